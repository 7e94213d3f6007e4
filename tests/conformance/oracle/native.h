void sort_numbers(int* numbers, int count);
unsigned checksum(const int* numbers, int count);
