//! A command from its start to the end of everything it has started, without a sandbox and in one.

use std::{fs, path::Path, process::Command, time::Duration};

use crate::support::{A_MOMENT, NO_LIMIT, confined, plan, start};
use downcity_agent::shell::{
    process::{End, Limits, Phase},
    protocol::Plan,
};

type MakePlan = fn(&Path, &str) -> Plan;

/// Each test holds in both.
const WAYS: [MakePlan; 2] = [plan, confined];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

fn ended(code: i32) -> Phase {
    Phase::Ended(End { exit_code: Some(code), ..End::default() })
}

#[test]
fn a_command_gives_its_output_and_its_exit_code() {
    for way in WAYS {
        let folder = folder();
        let running = start(&way(folder.path(), "echo out; echo err >&2; pwd; exit 3"), NO_LIMIT);
        let end = running.end();
        assert_eq!(end.phase, ended(3), "{end:?}");
        assert_eq!(end.stdout, format!("out\n{}\n", folder.path().display()));
        assert_eq!(end.stderr, "err\n");
        assert!(!end.truncated);
    }
}

#[test]
fn a_command_that_begins_with_a_dash_is_a_command_all_the_same() {
    let folder = folder();
    let end = start(&plan(folder.path(), "-x 2>/dev/null; echo \"ran $?\""), NO_LIMIT).end();
    assert_eq!(end.stdout, "ran 127\n");
}

#[test]
fn its_environment_is_what_the_plan_says_and_nothing_else() {
    for way in WAYS {
        let folder = folder();
        let end = start(
            &way(folder.path(), "env | grep -v -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | cut -d= -f1 | sort"),
            NO_LIMIT,
        );
        assert_eq!(end.end().stdout, "GIVEN\nPATH\n");
    }
}

#[test]
fn a_command_that_reads_finds_an_end() {
    for way in WAYS {
        let folder = folder();
        let end = start(&way(folder.path(), "cat; echo read"), NO_LIMIT).end();
        assert_eq!(end.stdout, "read\n");
    }
}

#[test]
fn input_reaches_a_command_that_takes_it_and_can_be_closed() {
    for way in WAYS {
        let folder = folder();
        let plan =
            Plan { has_input: true, ..way(folder.path(), "read line; echo \"got $line\"; cat; echo end") };
        let running = start(&plan, NO_LIMIT);
        running.process.write("one\n".to_owned()).expect("it runs");
        running.until(|snapshot| snapshot.stdout == "got one\n");
        running.process.write("two\n".to_owned()).expect("it runs");
        running.process.close_input();
        assert_eq!(running.end().stdout, "got one\ntwo\nend\n");
        assert_eq!(running.process.write("more".to_owned()), Err("The process has ended.".to_owned()));
    }
}

#[test]
fn input_that_nobody_reads_is_refused_in_the_end() {
    let folder = folder();
    let plan = Plan { has_input: true, ..plan(folder.path(), "sleep 1000") };
    let running = start(&plan, NO_LIMIT);
    running.until(|snapshot| snapshot.phase == Phase::Running);
    running.process.write("x".repeat(2 * 1024 * 1024)).expect("there is room");
    assert!(running.process.write("y".to_owned()).is_err());
    running.process.end();
    running.end();
}

#[test]
fn much_output_is_cut_in_the_middle() {
    for way in WAYS {
        let folder = folder();
        let limits = Limits { max_output: 1000, timeout: None };
        let end = start(&way(folder.path(), "seq 1 100000"), limits).end();
        assert!(end.truncated);
        assert!(end.stdout.starts_with("1\n2\n3\n"));
        assert!(end.stdout.ends_with("\n99999\n100000\n"));
        // 588,895 bytes were written.
        assert!(end.stdout.contains("\n[... 587895 bytes left out ...]\n"), "{}", end.stdout);
    }
}

#[test]
fn a_signal_that_ends_it_is_told() {
    for way in WAYS {
        let folder = folder();
        let end = start(&way(folder.path(), "kill -9 $$"), NO_LIMIT).end();
        assert_eq!(end.phase, Phase::Ended(End { signal: Some(9), ..End::default() }));
    }
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    for way in WAYS {
        let folder = folder();
        let limits = Limits { timeout: Some(Duration::from_millis(300)), ..NO_LIMIT };
        let end = start(&way(folder.path(), "echo begun; exec sleep 1000"), limits).end();
        assert_eq!(end.phase, Phase::Ended(End { signal: Some(15), timed_out: true, ..End::default() }));
        assert_eq!(end.stdout, "begun\n");
    }
}

/// Programs that carry a word nobody else carries, wherever they are.
fn carrying(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("this is Linux").flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

/// Starts it, waits until it has said that it is ready, ends it, and sees that nothing is left.
fn nothing_is_left_of(name: &str, script: &str) {
    for (index, way) in WAYS.into_iter().enumerate() {
        let folder = folder();
        // A program of its own name, so that its processes can be found by it.
        let word = format!("{name}{index}of{}", std::process::id());
        let sleeper = folder.path().join(&word);
        fs::copy("/bin/sleep", &sleeper).expect("sleep can be copied");
        let script = script.replace("SLEEP", &format!("{} 1000", sleeper.display()));
        let running = start(&way(folder.path(), &script), NO_LIMIT);
        running.until(|snapshot| snapshot.stdout.ends_with("ready\n"));
        while carrying(&word).is_empty() {
            std::thread::sleep(A_MOMENT);
        }
        running.process.end();
        let end = running.end();
        assert!(matches!(end.phase, Phase::Ended(_)), "{end:?}");
        assert_eq!(carrying(&word), Vec::<String>::new(), "{name}, way {index}");
    }
}

#[test]
fn fifty_sleeping_children_end_with_it() {
    nothing_is_left_of(
        "fifty",
        "i=0; while [ $i -lt 50 ]; do (SLEEP & SLEEP) & i=$((i+1)); done; echo ready; wait",
    );
}

#[test]
fn a_process_that_ignores_the_polite_signals_ends() {
    nothing_is_left_of(
        "deaf",
        "trap '' TERM INT HUP; (trap '' TERM; SLEEP) & echo ready; while true; do SLEEP; done",
    );
}

#[test]
fn a_process_that_has_become_a_daemon_ends() {
    nothing_is_left_of(
        "daemon",
        "(setsid sh -c 'setsid SLEEP </dev/null >/dev/null 2>&1 &' &) ; echo ready; SLEEP",
    );
}

#[test]
fn a_process_that_was_stopped_ends() {
    nothing_is_left_of("stopped", "SLEEP & kill -STOP $!; echo ready; wait");
}

#[test]
fn background_work_ends_with_the_command_that_started_it() {
    for (index, way) in WAYS.into_iter().enumerate() {
        let folder = folder();
        let word = format!("behind{index}of{}", std::process::id());
        let sleeper = folder.path().join(&word);
        fs::copy("/bin/sleep", &sleeper).expect("sleep can be copied");
        let script = format!("setsid {} 1000 & echo started", sleeper.display());
        let end = start(&way(folder.path(), &script), NO_LIMIT).end();
        assert_eq!((end.phase, &*end.stdout), (ended(0), "started\n"));
        assert_eq!(carrying(&word), Vec::<String>::new());
    }
}

#[test]
fn a_folder_that_has_become_a_link_is_not_entered() {
    let folder = folder();
    let outside = tempfile::tempdir().expect("a temporary folder can be made");
    let inside = folder.path().join("inside");
    std::os::unix::fs::symlink(outside.path(), &inside).expect("a link can be made");
    let end =
        start(&Plan { cwd: crate::support::text(&inside), ..plan(folder.path(), "touch here") }, NO_LIMIT)
            .end();
    assert!(matches!(&end.phase, Phase::Refused(why) if why.contains("inside")), "{end:?}");
    assert_eq!(fs::read_dir(outside.path()).expect("it is there").count(), 0);
}

#[test]
fn a_plan_without_a_command_tells_whether_the_sandbox_can_be_had() {
    let folder = folder();
    let probe = Plan { command: None, ..confined(folder.path(), "") };
    let end = start(&probe, NO_LIMIT).end();
    assert!(matches!(end.phase, Phase::Ended(_)), "{end:?}");
    let nowhere = Plan { command: None, ..confined(Path::new("/proc"), "") };
    let end = start(&nowhere, NO_LIMIT).end();
    assert!(matches!(end.phase, Phase::Refused(_)), "{end:?}");
}

#[test]
fn a_helper_that_is_killed_takes_a_confined_command_with_it() {
    let folder = folder();
    let word = format!("orphan{}", std::process::id());
    let sleeper = folder.path().join(&word);
    fs::copy("/bin/sleep", &sleeper).expect("sleep can be copied");
    let script = format!("setsid {} 1000 & echo ready; wait", sleeper.display());
    let running = start(&confined(folder.path(), &script), NO_LIMIT);
    running.until(|snapshot| snapshot.stdout == "ready\n");
    let helper = child_of_this_process_above(&word);
    let killed = Command::new("kill").args(["-9", &helper]).status().expect("kill can be run");
    assert!(killed.success());
    running.end();
    assert_eq!(carrying(&word), Vec::<String>::new());
}

/// The helper that stays outside of the sandbox in which such a program runs.
fn child_of_this_process_above(word: &str) -> String {
    let own = std::process::id().to_string();
    let parent_of = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
        let fields = stat.rsplit_once(')').expect("its name is in brackets").1.to_owned();
        fields.split_whitespace().nth(1).expect("it has a parent").to_owned()
    };
    let carries = |pid: &String| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    let processes = fs::read_dir("/proc").expect("this is Linux").flatten();
    let numbers = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut pid = numbers.filter(|name| name.parse::<u32>().is_ok()).find(carries).expect("it runs");
    loop {
        let parent = parent_of(&pid);
        if parent == own {
            return pid;
        }
        pid = parent;
    }
}
