package escape

import "strings"

// reservedPrefixes and reservedNames are the names to which a shell, or a
// program that a script commonly runs, gives a meaning of its own: an
// assignment would change how the script runs, or the value would not be what
// was assigned. They are what bash 5.2, ksh93u+m 1.0.4, mksh R59c, yash 2.52,
// zsh 5.9, posh 0.14.1, dash 0.5.12 and busybox 1.35 document or set on their own.
var reservedPrefixes = []string{"LC_", "BASH", "ZSH", "COMP_", "HIST", "READLINE_", "PROMPT", "RPROMPT", "GLOB", "YASH_", "POSH_", "EPOCH", "KSH_", "LD_", "_"}

var reservedNames = set(`
ARGC ARGV ATTRIBUTES BAUD CDPATH CHILD_MAX COLUMNS COMPREPLY COPROC CORRECT_IGNORE CORRECT_IGNORE_FILE CPUTYPE
DIRSTACK DIRSTACKSIZE EDITOR EGID EMACS ENV ERRNO EUID EXECIGNORE EXECSHELL FCEDIT FIGNORE FPATH FUNCNAME
FUNCNEST GID GROUPS HANDLED HOME HOST HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS JOBMAX KEYBOARD_HACK KEYTIMEOUT
KSHEGID KSHGID KSHUID LANG LANGUAGE LINENO LINES LISTMAX LOCPATH LOGCHECK LOGNAME MACHTYPE MAIL MAILCHECK MAILPATH
MANPATH MAPFILE MODULE_PATH NLSPATH NULLCMD OLDPWD OPTARG OPTERR OPTIND OSTYPE PATH PATHSEP PGRP PIPESTATUS
POSIXLY_CORRECT POSTEDIT PPID PROMPT2 PROMPT3 PROMPT4 PS0 PS1 PS1P PS1R PS1S PS2 PS2P PS2R PS2S PS3 PS4 PS4P PS4R PS4S PSVAR PWD RANDOM
READNULLCMD REPLY REPORTTIME RPS1 RPS2 RANDSEED SAVEHIST SECONDS SHELL SHELLOPTS SHLVL SIGNALS SPROMPT SRANDOM STTY TERM
TERMINFO TERMINFO_DIRS TIMEFMT TIMEFORMAT TMOUT TMPDIR TMPPREFIX TMPSUFFIX TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTY TTYIDLE
UID USER USERNAME USER_ID VENDOR VISUAL WATCH WATCHFMT WORDCHARS ZDOTDIR ZLE_RPROMPT_INDENT
aliases argv auto_resume builtins cdpath commands dis_aliases dis_builtins dis_functions dis_functions_source
dis_galiases dis_patchars dis_reswords dis_saliases dirstack fignore fpath funcfiletrace funcsourcetrace funcstack functions
functions_source functrace galiases histchars history historywords jobdirs jobstates jobtexts keymaps mapfile mailpath manpath
module_path modules nameddirs options parameters patchars path pipestatus prompt psvar reswords saliases signals status
termcap terminfo userdirs usergroups watch widgets zle_bracketed_paste zsh_eval_context zsh_scheduled_events
`)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, name := range strings.Fields(names) {
		m[name] = true
	}
	return m
}
