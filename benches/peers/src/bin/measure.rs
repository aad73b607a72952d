//! Runs one pipeline and prints what its processes used, as one line of JSON.
//!
//!     measure [--stdin FILE] [--first-byte] COMMAND ARG... ::: COMMAND ARG... ::: ...
//!
//! `cpu`: seconds, user and system, of all processes; `wall`: seconds until the last of them has
//! ended, or with `--first-byte` until the first byte of the last one; `peak`: bytes, the
//! highest resident set of each process. The output of the last process is thrown away.
//! A separate program because a child inherits the peak of the process that starts it: that
//! process has to be small.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("measure: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let mut input = Stdio::null();
    if arguments.first().is_some_and(|first| first == "--stdin") {
        input = File::open(arguments.get(1).ok_or("--stdin needs a file")?)?.into();
        arguments.drain(..2);
    }
    let first_byte = arguments.first().is_some_and(|first| first == "--first-byte");
    arguments.drain(..usize::from(first_byte));
    let commands: Vec<_> = arguments.split(|argument| argument == ":::").collect();

    let start = Instant::now();
    let mut children: Vec<Child> = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let (program, arguments) = command.split_first().ok_or("an empty command")?;
        let last = at + 1 == commands.len();
        let output = if last && !first_byte { Stdio::null() } else { Stdio::piped() };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(input)
            .stdout(output)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        input = match child.stdout.take() {
            Some(output) if !last => output.into(),
            Some(mut output) => {
                output.read_exact(&mut [0])?;
                Stdio::null()
            }
            None => Stdio::null(),
        };
        if first_byte && last {
            let wall = start.elapsed().as_secs_f64();
            child.kill()?;
            child.wait()?;
            println!("{{\"wall\": {wall}}}");
            return Ok(());
        }
        children.push(child);
    }
    let used: Vec<Usage> = children.into_iter().map(wait).collect::<io::Result<_>>()?;
    let wall = start.elapsed().as_secs_f64();
    let cpu: f64 = used.iter().map(|used| used.cpu).sum();
    let peaks: Vec<u64> = used.iter().map(|used| used.peak).collect();
    println!("{{\"cpu\": {cpu}, \"wall\": {wall}, \"peak\": {peaks:?}}}");
    Ok(())
}

struct Usage {
    cpu: f64,
    peak: u64,
}

fn wait(child: Child) -> io::Result<Usage> {
    let mut status = 0;
    // SAFETY: rusage is plain data, and wait4 fills it in for our child, for which nobody else
    // waits.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) < 0 {
            return Err(io::Error::last_os_error());
        }
        usage
    };
    let status = ExitStatus::from_raw(status);
    if !status.success() {
        return Err(io::Error::other(format!("a process of the pipeline ended with {status}")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Usage {
        cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        peak: usage.ru_maxrss as u64 * 1024,
    })
}
