package main

import "github.com/mirrorpatch/mirrorpatch/escape"

// Script returns the start script of a node. The error names everything that is
// wrong with the Config.
func Script(c Config) (escape.Script, error) {
	if err := c.check(); err != nil {
		return escape.Script{}, err
	}
	var parts []escape.Shell
	set := func(name, value escape.Shell) {
		parts = append(parts, name, value, escape.Lit("\n"))
	}
	set(escape.Lit("sweep_store="), escape.Word(c.Store))
	set(escape.Lit("sweep_mountpoint="), escape.Word(mountPoint.Replace(c.Store)))
	set(escape.Lit("sweep_state="), escape.Word(c.State))
	set(escape.Lit("sweep_socket="), escape.Word(c.Socket))
	set(escape.Lit("sweep_settings="), escape.Word(c.Settings))
	set(escape.Lit("sweep_run="), escape.Word(c.Run))
	set(escape.Lit("sweep_private="), escape.Word(c.privateSocket()))
	set(escape.Lit("sweep_namespace="), escape.Word(c.Namespace))
	set(escape.Lit("sweep_containerd="), escape.Word(c.Containerd))
	set(escape.Lit("sweep_client="), escape.Word(c.Ctr))
	set(escape.Lit("sweep_ready_limit="), seconds(c.Ready))
	set(escape.Lit("sweep_call_limit="), seconds(c.Call))
	set(escape.Lit("sweep_stop_limit="), seconds(c.Stop))
	set(escape.Lit("sweep_proc="), escape.Word(c.proc))

	parts = append(parts, escape.Lit("\nsweep_enter() {\n  sweep_unlock\n  trap - EXIT HUP INT TERM\n  exec"))
	for _, word := range c.Entry {
		parts = append(parts, escape.Lit(" "), escape.Word(word))
	}
	parts = append(parts, escape.Lit(" \"$@\"\n}\n"),
		escape.Lit(processes), escape.Lit(sweep), escape.Lit(discard), escape.Lit(start))
	return escape.Program(parts...)
}

// processes ends what the script starts, whatever happens. A child is waited
// for without polling, and killed by a second one when its time is over.
const processes = `
sweep_close=') ' # ksh93 cannot read it within ${ }
sweep_why=
sweep_pid=
sweep_call=
sweep_watcher=
sweep_starting=
sweep_pending=
sweep_lock=

sweep_say() {
  printf 'storesweep: %s\n' "$1" >&2
}

sweep_refuse() {
  sweep_say "$1"
  sweep_stop
  sweep_say 'the node is not started'
  exit 1
}

# sweep_process FILE reads a process's state, and when it began, in clock ticks
# since the boot. The name before them may hold blanks and parentheses.
sweep_process() {
  sweep_line=$(cat "$1" 2>/dev/null) || return 1
  sweep_line=${sweep_line##*$sweep_close}
  sweep_mode=${sweep_line%% *}
  sweep_field=3
  while [ "$sweep_field" -lt 22 ]; do
    case $sweep_line in
    *' '*) ;;
    *) return 1 ;;
    esac
    sweep_line=${sweep_line#* }
    sweep_field=$((sweep_field + 1))
  done
  sweep_began=${sweep_line%% *}
  case $sweep_began in
  '' | *[!0123456789]*) return 1 ;;
  esac
}

# sweep_alive PID: a process that has ended and was not waited for is not.
sweep_alive() {
  sweep_process "/proc/$1/stat" || return 1
  case $sweep_mode in
  Z | X) return 1 ;;
  esac
}

# sweep_watch kills the process when the time is over, and when the script was killed.
sweep_watch() {
  sweep_tick=0
  while [ "$sweep_tick" -lt "$2" ] && kill -0 "$$"; do
    sleep 1
    sweep_tick=$((sweep_tick + 1))
  done
  kill -KILL "$1"
}

# sweep_wait PID SECONDS waits for a child, and kills it when the time is over. What
# kills it is killed in turn: dash 0.5.12 loses another signal that comes right after a fork.
sweep_wait() {
  sweep_starting=yes
  sweep_watch "$1" "$2" </dev/null >/dev/null 2>&1 &
  sweep_watcher=$!
  sweep_started
  sweep_status=0
  wait "$1" 2>/dev/null || sweep_status=$?
  kill -KILL "$sweep_watcher" 2>/dev/null || :
  wait "$sweep_watcher" 2>/dev/null || :
  sweep_watcher=
  return "$sweep_status"
}

# sweep_stop ends containerd. A signal that comes meanwhile begins it again, so the
# process is forgotten when it is gone, and not before.
sweep_stop() {
  if [ -n "$sweep_pid" ]; then
    kill -TERM "$sweep_pid" 2>/dev/null || :
    sweep_wait "$sweep_pid" "$sweep_stop_limit" || :
    rm -f -- "$sweep_run/containerd.pid" "$sweep_private" "$sweep_private.ttrpc"
    sweep_pid=
  fi
}

# sweep_signal NAME STATUS ends the script. A signal that comes between the start of a process
# and the writing down of its number waits for sweep_started.
sweep_signal() {
  if [ -n "$sweep_starting" ]; then
    sweep_pending=$1
    sweep_pending_status=$2
    return 0
  fi
  sweep_pending=
  trap '' HUP INT TERM
  if [ -n "$sweep_call" ]; then
    kill -KILL "$sweep_call" 2>/dev/null || :
  fi
  if [ -n "$sweep_watcher" ]; then
    kill -KILL "$sweep_watcher" 2>/dev/null || :
  fi
  sweep_say "ended by signal $1"
  sweep_stop
  exit "$2"
}

sweep_started() {
  sweep_starting=
  if [ -n "$sweep_pending" ]; then
    sweep_signal "$sweep_pending" "$sweep_pending_status"
  fi
}

sweep_unlock() {
  if [ -n "$sweep_lock" ]; then
    rmdir -- "$sweep_lock" 2>/dev/null || :
    sweep_lock=
  fi
}

sweep_end() {
  sweep_stop
  sweep_unlock
}

trap sweep_end EXIT
trap 'sweep_signal HUP 129' HUP
trap 'sweep_signal INT 130' INT
trap 'sweep_signal TERM 143' TERM

# sweep_claim refuses while another start is under way. Each has a folder whose name says boot and
# process, so a stale one is nobody's. Of two that see each other, none goes on.
sweep_claim() {
  sweep_process "/proc/$$/stat" || sweep_refuse "cannot read /proc/$$/stat"
  sweep_lock=$sweep_run/start.$sweep_boot_name.$$.$sweep_began
  mkdir -- "$sweep_lock" 2>/dev/null || [ -d "$sweep_lock" ] || sweep_refuse "cannot write in $sweep_run"
  for sweep_other in "$sweep_run"/start.*; do
    if [ "$sweep_other" = "$sweep_lock" ]; then
      continue
    fi
    sweep_since=${sweep_other##*.}
    sweep_old=${sweep_other%.*}
    sweep_old=${sweep_old##*.}
    case ${sweep_other##*/} in
    "start.$sweep_boot_name".*)
      if sweep_alive "$sweep_old" && [ "$sweep_began" = "$sweep_since" ]; then
        sweep_refuse "another start, process $sweep_old, has not come to its end"
      fi
      ;;
    esac
    rmdir -- "$sweep_other" 2>/dev/null || :
  done
}

# posh 0.14.1 has no -ef; the program test has it.
if [ / -ef / ] 2>/dev/null; then
  sweep_same() {
    [ "$1" -ef "$2" ]
  }
else
  sweep_same() {
    env test "$1" -ef "$2"
  }
fi

# sweep_unheld refuses while a process has the store's database open, which a containerd has from
# its start to its end, wherever it listens.
sweep_unheld() {
  sweep_db=$sweep_store/io.containerd.metadata.v1.bolt/meta.db
  [ -e "$sweep_db" ] || return 0
  sweep_same "$sweep_db" "$sweep_db" || sweep_refuse "no test knows -ef"
  for sweep_open in /proc/[0123456789]*/fd/*; do
    if [ -f "$sweep_open" ] && sweep_same "$sweep_open" "$sweep_db"; then
      sweep_open=${sweep_open#/proc/}
      sweep_refuse "process ${sweep_open%%/*} has $sweep_db open: nothing is swept while it runs"
    fi
  done
}

# sweep_now reads the seconds since the boot.
sweep_now() {
  read -r sweep_seconds sweep_rest </proc/uptime || sweep_refuse 'cannot read /proc/uptime'
  sweep_seconds=${sweep_seconds%%.*}
}

# sweep_orphan ends the containerd of a run of this script that was killed.
sweep_orphan() {
  [ -f "$sweep_run/containerd.pid" ] || return 0
  read -r sweep_old sweep_since <"$sweep_run/containerd.pid" || :
  case $sweep_old in
  '' | *[!0123456789]*) sweep_old= ;;
  esac
  sweep_try=0
  while [ -n "$sweep_old" ] && sweep_alive "$sweep_old" && [ "$sweep_began" = "$sweep_since" ]; do
    if [ "$sweep_try" -eq 0 ]; then
      sweep_say "a run before this one was killed and left its containerd, process $sweep_old: ending it"
      kill -TERM "$sweep_old" 2>/dev/null || :
    elif [ "$sweep_try" -eq "$sweep_stop_limit" ]; then
      kill -KILL "$sweep_old" 2>/dev/null || :
    elif [ "$sweep_try" -gt $((sweep_stop_limit + 30)) ]; then
      sweep_refuse "process $sweep_old does not end"
    fi
    sweep_try=$((sweep_try + 1))
    sleep 1
  done
  rm -f -- "$sweep_run/containerd.pid"
}

# sweep_listening PATH: whether a process listens on the socket.
sweep_listening() {
  while read -r sweep_number sweep_count sweep_protocol sweep_flags sweep_type sweep_mode sweep_inode sweep_path; do
    if [ "$sweep_path" = "$1" ] && [ "$sweep_flags" = 00010000 ]; then
      return 0
    fi
  done <"$sweep_proc/net/unix"
  return 1
}
`

// sweep removes what the last run left, through containerd. Where it fails, sweep_why says why.
const sweep = `
# sweep_ask and sweep_serve become the program, in the background. They are functions: yash 2.52 has
# two processes for a ( ) there, and for a program while a trap is set, and the number is that of the first.
sweep_ask() {
  exec "$sweep_client" --address "$sweep_private" --namespace "$sweep_namespace" "$@"
}

sweep_ctr() {
  rm -f -- "$sweep_run/out" "$sweep_run/err"
  sweep_starting=yes
  sweep_ask "$@" </dev/null >"$sweep_run/out" 2>"$sweep_run/err" &
  sweep_call=$!
  sweep_started
  sweep_result=0
  sweep_wait "$sweep_call" "$sweep_limit" || sweep_result=$?
  sweep_call=
  case $sweep_result in
  0) return 0 ;;
  137 | 265 | 393) sweep_why="ctr $1 ${2-} was killed after $sweep_limit seconds" ;;
  *) sweep_why="ctr $1 ${2-} failed with $sweep_result: $(tail -n 1 "$sweep_run/err")" ;;
  esac
  return 1
}

# sweep_list NOUN lists their names, one a line, in the file names.
sweep_list() {
  case $1 in
  sandboxes) sweep_ctr sandboxes ls || return 1 ;; # a table: name, time and runtime, below a line of titles
  *) sweep_ctr "$1" ls -q || return 1 ;;
  esac
  sweep_count=0
  rm -f -- "$sweep_run/names"
  printf '' >"$sweep_run/names" || return 1
  while read -r sweep_name sweep_rest || [ -n "$sweep_name" ]; do
    if [ "$1 $sweep_name ${sweep_rest%% *}" = 'sandboxes ID CREATED' ]; then
      continue
    fi
    case $sweep_name in
    '' | -* | *[!0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._:/@+=-]*)
      sweep_why="ctr $1 ls prints what is no name"
      return 1
      ;;
    esac
    printf '%s\n' "$sweep_name" >>"$sweep_run/names" || return 1
    sweep_count=$((sweep_count + 1))
  done <"$sweep_run/out"
}

# sweep_remove NOUN VERB OPTION removes all of them. Not every failure of ctr 2.4.2
# has an exit status, so they are listed again.
sweep_remove() {
  sweep_noun=$1
  sweep_list "$sweep_noun" || return 1
  if [ "$sweep_count" -eq 0 ]; then
    return 0
  fi
  sweep_say "removing what the last run left: $sweep_count $sweep_noun"
  while read -r sweep_name; do
    set -- "$@" "$sweep_name"
  done <"$sweep_run/names"
  sweep_ctr "$@" || return 1
  sweep_list "$sweep_noun" || return 1
  if [ "$sweep_count" -ne 0 ]; then
    sweep_why="$sweep_count $sweep_noun are left"
    return 1
  fi
}

# A containerd that finds NOTIFY_SOCKET would tell systemd that the node is ready.
sweep_serve() {
  unset NOTIFY_SOCKET
  exec "$sweep_containerd" -c "$sweep_settings" -a "$sweep_private" --state "$sweep_state" --root "$sweep_store"
}

sweep_through() {
  for sweep_program in "$sweep_containerd" "$sweep_client"; do
    if ! command -v "$sweep_program" >/dev/null 2>&1; then
      sweep_why="there is no program $sweep_program"
      return 1
    fi
  done
  rm -f -- "$sweep_private" "$sweep_private.ttrpc" "$sweep_run/containerd.log" "$sweep_run/containerd.pid"
  sweep_starting=yes
  sweep_serve </dev/null >"$sweep_run/containerd.log" 2>&1 &
  sweep_pid=$!
  if sweep_process "/proc/$sweep_pid/stat"; then
    if ! printf '%s %s\n' "$sweep_pid" "$sweep_began" >"$sweep_run/containerd.pid"; then
      sweep_refuse "cannot write in $sweep_run"
    fi
  fi
  sweep_started

  sweep_now
  sweep_deadline=$((sweep_seconds + sweep_ready_limit))
  sweep_limit=$((sweep_ready_limit < 5 ? sweep_ready_limit : 5))
  until sweep_ctr version; do
    if ! sweep_alive "$sweep_pid"; then
      sweep_why='containerd ended before it was ready'
      return 1
    fi
    sweep_now
    sweep_limit=$((sweep_deadline - sweep_seconds))
    if [ "$sweep_limit" -le 0 ]; then
      sweep_why="containerd was not ready after $sweep_ready_limit seconds"
      return 1
    fi
    sweep_limit=$((sweep_limit < 5 ? sweep_limit : 5))
    sleep 1
  done

  sweep_limit=$sweep_call_limit
  sweep_remove tasks delete --force || return 1
  sweep_remove containers delete || return 1
  sweep_remove sandboxes rm --force || return 1
  sweep_remove leases delete --sync || return 1
  sweep_why=
}
`

// discard throws the whole store away, or refuses to start the node. A file in
// the store says that it is being thrown away, so that half a store that a power cut
// leaves is never taken for one.
const discard = `
sweep_doomed=.storesweep-discarding

# sweep_into goes into the store, if it is where its path says and no symbolic link leads there.
sweep_into() {
  cd -P -- "$sweep_store" 2>/dev/null || return 1
  sweep_here=$(pwd -P && echo x) || return 1
  [ "$sweep_here" = "$sweep_store
x" ]
}

# sweep_mounts: what is mounted below the store is not containerd's, and would be emptied too.
sweep_mounts() {
  while read -r sweep_id sweep_parent sweep_device sweep_root sweep_point sweep_rest; do
    case $sweep_point in
    "$sweep_mountpoint"/*) return 0 ;;
    esac
  done <"$sweep_proc/self/mountinfo"
  return 1
}

sweep_discard() {
  sweep_unheld
  sweep_say "$sweep_why: throwing the whole store away"
  if [ -s "$sweep_run/containerd.log" ]; then
    tail -n 5 "$sweep_run/containerd.log" >&2 || :
  fi
  if sweep_mounts; then
    sweep_refuse "$sweep_store is not thrown away: $sweep_point is mounted in it"
  fi
  (
    sweep_into || exit 1
    # A mark that is there stays as it is: written through, a link would lead elsewhere and a pipe would block.
    if [ -L "./$sweep_doomed" ] || { [ -e "./$sweep_doomed" ] && ! [ -f "./$sweep_doomed" ]; }; then
      rm -rf -- "./$sweep_doomed" || exit 1
    fi
    if ! [ -e "./$sweep_doomed" ]; then
      printf '' >"./$sweep_doomed" || exit 1
    fi
    for sweep_entry in * .[!.]* ..?*; do
      if [ "$sweep_entry" = "$sweep_doomed" ]; then
        continue
      fi
      if [ -e "./$sweep_entry" ] || [ -L "./$sweep_entry" ]; then
        rm -rf -- "./$sweep_entry" || exit 1
      fi
    done
    rm -f -- "./$sweep_doomed"
  ) || sweep_refuse "$sweep_store cannot be thrown away"
}
`

// start decides. Whatever cannot be known stops the node: it starts with a clean store or not at all.
const start = `
# A boot of a machine has an ID; a container's is told by when its first process began.
sweep_boot=$(cat "$sweep_proc/sys/kernel/random/boot_id" 2>/dev/null) || sweep_boot=
case $sweep_boot in
'' | *[!0123456789abcdef-]*) sweep_refuse "$sweep_proc/sys/kernel/random/boot_id holds no ID" ;;
esac
if ! sweep_process "$sweep_proc/1/stat"; then
  sweep_refuse "$sweep_proc/1/stat does not say when the first process began"
fi
sweep_boot_name=$sweep_boot.$sweep_began
sweep_boot="$sweep_boot $sweep_began"

# sweep_swept goes on to the node if the marker is of this boot.
sweep_swept() {
  if ! [ -f "$sweep_run/boot" ] || [ "$(cat "$sweep_run/boot" 2>/dev/null)" != "$sweep_boot" ]; then
    return 0
  fi
  sweep_say 'the store was swept in this boot already'
  sweep_enter "$@"
}

# sweep_own: a folder that others can change would lead what is written elsewhere. The numbers of its
# owner and of this user are compared, since posh has no -O.
sweep_own() {
  if [ -L "$sweep_run" ]; then
    sweep_refuse "$sweep_run is a symbolic link"
  fi
  [ -e "$sweep_run" ] || return 0
  set -- $(ls -ldn -- "$sweep_run")
  if [ "$#" -lt 3 ]; then
    sweep_refuse "cannot read $sweep_run"
  fi
  if [ "$3" != "$(id -u)" ]; then
    sweep_refuse "$sweep_run is not this user's"
  fi
  case $1 in
  ?????w* | ????????w*) sweep_refuse "others may write in $sweep_run" ;;
  esac
}

sweep_own
sweep_swept "$@"

# Before anything is touched: without the marker, the next start in this boot would sweep away what then runs.
mkdir -p -m 700 -- "$sweep_run" 2>/dev/null || sweep_refuse "cannot make the folder $sweep_run"
sweep_own
sweep_where=$(cd -P -- "$sweep_run" && pwd -P && echo x) || sweep_refuse "cannot enter $sweep_run"
case $sweep_where in
"$sweep_store"/* | "$sweep_store
x") sweep_refuse "$sweep_run is in the store" ;;
esac
sweep_claim
sweep_swept "$@"
if [ -d "$sweep_run/boot" ]; then
  sweep_refuse "$sweep_run/boot is a folder"
fi
rm -f -- "$sweep_run/boot.new" 2>/dev/null || sweep_refuse "cannot write $sweep_run/boot.new"
if ! printf '%s\n' "$sweep_boot" 2>/dev/null >"$sweep_run/boot.new" || ! [ -s "$sweep_run/boot.new" ]; then
  sweep_refuse "cannot write $sweep_run/boot.new"
fi
for sweep_file in net/unix self/mountinfo; do
  if ! [ -r "$sweep_proc/$sweep_file" ]; then
    sweep_refuse "cannot read $sweep_proc/$sweep_file"
  fi
done

sweep_found=
if [ -L "$sweep_store" ]; then
  sweep_refuse "$sweep_store is a symbolic link"
elif [ -d "$sweep_store" ]; then
  if ! (sweep_into); then
    sweep_refuse "$sweep_store cannot be entered, or a part of its path is a symbolic link"
  fi
  for sweep_entry in "$sweep_store"/io.containerd.*; do
    if [ -e "$sweep_entry" ]; then
      sweep_found=store
    fi
  done
  if [ -e "$sweep_store/$sweep_doomed" ] || [ -L "$sweep_store/$sweep_doomed" ]; then
    sweep_found=doomed
  fi
elif [ -e "$sweep_store" ]; then
  sweep_refuse "$sweep_store is not a folder"
fi

if [ -z "$sweep_found" ]; then
  sweep_orphan # its store may have been removed by hand
  sweep_say "nothing to sweep: $sweep_store holds no containerd store"
else
  if sweep_listening "$sweep_socket"; then
    sweep_refuse "a process listens on $sweep_socket: nothing is swept while it runs"
  fi
  sweep_orphan
  sweep_unheld
  if [ "$sweep_found" = doomed ]; then
    sweep_why='a run before this one did not get to the end of throwing it away'
    sweep_discard
  elif sweep_through; then
    sweep_stop
    sweep_unheld # where the program was a wrapper that did not exec containerd
    sweep_say 'the store is swept'
  else
    sweep_stop
    sweep_discard
  fi
fi
mv -f -- "$sweep_run/boot.new" "$sweep_run/boot" || sweep_refuse "cannot write $sweep_run/boot"
sweep_enter "$@"
`
