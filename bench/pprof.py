"""Takes the names out of a pprof profile, so that it has to be symbolized.

The fields of its protocol buffer that go, by profile.proto:

    Profile   4 location, 5 function, 3 mapping
    Location  4 line
    Mapping   7 to 10 has functions, files, lines, inlined calls
"""
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, bytes of the field, contents) of each; contents only of those with a length."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at)
        contents = None
        if key & 7 == 2:
            size, at = varint(data, at)
            contents = data[at:at + size]
            at += size
        elif key & 7 == 0:
            _, at = varint(data, at)
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[begin:at], contents


def with_length(number, contents):
    size, head = len(contents), bytearray([number << 3 | 2])
    while size >= 0x80:
        head.append(size & 0x7f | 0x80)
        size >>= 7
    return bytes(head + bytes([size]) + contents)


def without(contents, numbers):
    return b"".join(field for number, field, _ in fields(contents) if number not in numbers)


def without_names(packed):
    kept, gone = [], {3: {7, 8, 9, 10}, 4: {4}}
    for number, field, contents in fields(gzip.decompress(packed)):
        if number in gone:
            kept.append(with_length(number, without(contents, gone[number])))
        elif number != 5:
            kept.append(field)
    return gzip.compress(b"".join(kept))
