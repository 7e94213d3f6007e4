# fish completion for gosym: the program writes it from its own tables of options.
command gosym completion fish 2> /dev/null | source
