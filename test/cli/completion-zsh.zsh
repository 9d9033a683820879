# Types a line and a tab into a zsh of its own and prints what it offers: script, folder for files, line.
zmodload zsh/zpty
zpty shell "TERM=dumb zsh -f -i"
zpty -w shell "PS1= PS2= ; autoload -U compinit; compinit -u -d $2/dump; source $1"
# What matches is written down instead of being shown.
zpty -w shell "compadd() { if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd \"\$@\"; return; fi; local -a hits; builtin compadd -A hits \"\$@\"; print -rl -- \$hits >> $2/offered; return 1 }"
# What is typed before the line editor has the terminal is edited by the terminal itself.
zpty -w shell "bindkey '^I' complete-word; zle-line-init() { print rea''dy }; zle -N zle-line-init"
while zpty -r shell REPLY && [[ $REPLY != *ready* ]]; do :; done
zpty -w -n shell "$3"$'\t'
zpty -w shell $'\C-Uexit'
while zpty -r shell REPLY; do :; done
cat $2/offered 2>/dev/null
exit 0
