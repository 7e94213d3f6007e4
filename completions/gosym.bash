# bash completion for gosym: the program writes it from its own tables of options.
eval "$(command gosym completion bash 2> /dev/null)"
