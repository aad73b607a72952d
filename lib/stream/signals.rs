//! Signals: a closed pipe ends a filter silently; any other signal that ends the process removes the temporary
//! files first.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use libc::{
    SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};

use crate::error::Kind;

/// The signals that end a process and are handled here. (Signals whose default action shows a bug of ours are not
/// among them.)
const HEEDED: [i32; 10] =
    [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGQUIT];

/// What is removed if the run ends before its files are published.
struct Leftovers {
    stagings: BTreeSet<PathBuf>,
    /// Directories made for them; they are removed if they are empty.
    directories: BTreeSet<PathBuf>,
}

static LEFTOVERS: Mutex<Leftovers> =
    Mutex::new(Leftovers { stagings: BTreeSet::new(), directories: BTreeSet::new() });

/// Locked while signals wait.
static HELD: Mutex<()> = Mutex::new(());
/// Whether a signal has come that ends the process.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Leftovers {
    fn remove_empty_directories(&self) {
        // A directory comes after its parent.
        for directory in self.directories.iter().rev() {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Makes a staging, which is removed if a signal stops the process. Signals wait while it is made.
pub fn staged<T>(path: &Path, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut leftovers = lock(&LEFTOVERS);
    leftovers.stagings.insert(path.to_path_buf());
    make()
}

/// Makes a file in a staging. Signals wait, since no file may appear after a signal has emptied the staging.
pub fn undisturbed<T>(make: impl FnOnce() -> T) -> T {
    let _leftovers = lock(&LEFTOVERS);
    make()
}

/// Remembers directories that are about to be made for a staging.
pub fn remember_directories(directories: Vec<PathBuf>) {
    lock(&LEFTOVERS).directories.extend(directories);
}

/// Removes the remembered directories that are empty.
pub fn remove_empty_directories() {
    lock(&LEFTOVERS).remove_empty_directories();
}

pub fn forget(staging: &Path) {
    lock(&LEFTOVERS).stagings.remove(staging);
}

/// Makes signals wait while it lives.
pub struct HeldSignals(Option<MutexGuard<'static, ()>>);

/// Makes signals wait: the current operation must not end halfway.
pub fn hold() -> HeldSignals {
    HeldSignals(Some(lock(&HELD)))
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        self.0 = None;
        // A signal that has waited ends the process now.
        end_if_told_to_stop();
    }
}

/// Does not return if a signal has come that ends the process. What such a process says is not wanted any more: that a
/// program failed, for example, which the same signal has ended.
pub fn end_if_told_to_stop() {
    while IS_ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Restores the default action of SIGPIPE (Rust ignores it), so that `... | head` ends a filter as
/// it ends `cat`.
pub fn die_of_closed_pipes() {
    // SAFETY: called first in main, before any thread exists; SIG_DFL is always valid.
    unsafe {
        libc::signal(SIGPIPE, libc::SIG_DFL);
    }
}

/// Ignores SIGPIPE again, for last bytes that nobody has to read.
pub fn survive_closed_pipes() {
    // SAFETY: SIG_IGN is always valid, and a handler of ours is not needed any more.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Removes the temporary files if a signal ends the process. The process then dies of the same signal, so that the
/// caller sees 130, 143 or 129. A signal that the parent has set to ignored (`nohup`) stays ignored. The first
/// staging starts this; `remove` removes one staging.
pub fn clean_up_when_told_to_stop(remove: fn(&Path)) -> io::Result<()> {
    static IS_STARTED: Mutex<bool> = Mutex::new(false);
    let mut is_started = lock(&IS_STARTED);
    if *is_started {
        return Ok(());
    }
    let heeded: Vec<i32> = HEEDED.into_iter().filter(|&signal| !is_ignored(signal)).collect();
    let mut signals = signal_hook::iterator::Signals::new(&heeded)?;
    std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            IS_ENDING.store(true, Ordering::SeqCst);
            let _held = lock(&HELD);
            // The lock is kept: no new temporary can appear before the end.
            let leftovers = lock(&LEFTOVERS);
            leftovers.stagings.iter().for_each(|staging| remove(staging));
            leftovers.remove_empty_directories();
            die_of(signal);
        }
    })?;
    for signal in &heeded {
        // The thread may be late, so the handler itself notes a signal that comes while signals wait.
        // SAFETY: the action stores a flag, which is safe in a handler of signals.
        unsafe {
            signal_hook_registry::register(*signal, || IS_ENDING.store(true, Ordering::SeqCst))
        }?;
    }
    for signal in [SIGPIPE, SIGXFSZ].into_iter().filter(|signal| heeded.contains(signal)) {
        wait_for_the_end_of_writes(signal)?;
    }
    *is_started = true;
    Ok(())
}

/// Makes a write that raises SIGPIPE or SIGXFSZ never return, as with the default action.
/// (Otherwise the filter would report a write error before the signal ends it.)
fn wait_for_the_end_of_writes(signal: i32) -> io::Result<()> {
    // SAFETY: getpid has no preconditions.
    let own = unsafe { libc::getpid() };
    let wait = move |info: &libc::siginfo_t| {
        // SAFETY: the kernel has filled in the fields of a signal that a process sends; one that a
        // write raises comes from the process itself. The thread was in a system call, and so holds
        // no lock of the allocator that the thread which cleans up might need.
        while unsafe { info.si_pid() } == own {
            // SAFETY: pause has no preconditions, and may be called in a handler of signals.
            unsafe { libc::pause() };
        }
    };
    // SAFETY: the action calls nothing but pause, which is safe in a handler of signals.
    unsafe { signal_hook_registry::register_sigaction(signal, wait) }.map(|_| ())
}

/// The line that is printed when a page of a mapped file cannot be read.
static LOST_PAGE: OnceLock<Vec<u8>> = OnceLock::new();

/// Prepares for mapped files. Reading a page that no longer exists (the file was made shorter, the disk fails)
/// raises SIGBUS, which becomes a normal read error, with a line and exit code 75. (The next run removes the
/// temporary files.)
pub fn heed_lost_pages() -> io::Result<()> {
    let program = crate::program::command_line().into_iter().next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let cause = "a mapped input was made shorter while it was read, or cannot be read";
    if LOST_PAGE.set(format!("{name}: {cause}\n").into_bytes()).is_err() {
        return Ok(());
    }
    // SAFETY: all zeros are a valid sigaction, whose fields are then set; the handler has the type
    // that SA_SIGINFO asks for.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_lost_page as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut())
    };
    if installed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_lost_page(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo to a handler with SA_SIGINFO. Nothing is called but
    // write, _exit, signal and raise, which are safe in a handler.
    unsafe {
        if (*info).si_code == libc::BUS_ADRERR {
            let line = LOST_PAGE.get().map_or(&[][..], Vec::as_slice);
            libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
            libc::_exit(i32::from(Kind::Unavailable.exit_code()));
        }
        // Another process sent the signal, or it is a bug: it ends the process when this returns.
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Passes the signals that would end this process on to its children, or to the groups of processes that they lead.
pub struct PassedSignals {
    handle: signal_hook::iterator::Handle,
    /// Returns its listener: closing it writes into a pipe, and if nobody has the other end that
    /// would end the process (SIGPIPE).
    thread: std::thread::JoinHandle<signal_hook::iterator::Signals>,
    state: Arc<Mutex<PassingState>>,
}

#[derive(Default)]
struct PassingState {
    /// Numbers of processes; below zero, of groups.
    children: BTreeSet<libc::pid_t>,
    /// The last signal that came.
    came: Option<i32>,
}

impl PassedSignals {
    pub fn start() -> io::Result<PassedSignals> {
        let wanted: Vec<i32> =
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
        let mut signals = signal_hook::iterator::Signals::new(&wanted)?;
        let handle = signals.handle();
        let state = Arc::new(Mutex::new(PassingState::default()));
        let passing = state.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                let mut passing = lock(&passing);
                passing.came = Some(signal);
                passing.children.iter().for_each(|&child| send(child, signal));
            }
            signals
        })?;
        Ok(PassedSignals { handle, thread, state })
    }

    /// Passes signals on to this child, also a signal that has come already.
    pub fn to(&self, child: u32) {
        self.add(child as libc::pid_t);
    }

    /// Passes signals on to all processes of the group that this child leads.
    pub fn to_group(&self, leader: u32) {
        self.add(-(leader as libc::pid_t));
    }

    fn add(&self, child: libc::pid_t) {
        let mut passing = lock(&self.state);
        passing.came.iter().for_each(|&signal| send(child, signal));
        passing.children.insert(child);
    }

    /// Notes that the child has ended.
    pub fn not_to(&self, child: u32) {
        lock(&self.state).children.remove(&(child as libc::pid_t));
    }

    /// Returns the signal that has come, if one has.
    pub fn came(&self) -> Option<i32> {
        lock(&self.state).came
    }

    /// Stops passing signals on; if one came, this process ends of it too.
    pub fn end(self) {
        self.handle.close();
        let _listened_to = self.thread.join();
        let came = lock(&self.state).came;
        if let Some(signal) = came {
            die_of(signal);
        }
    }
}

fn send(child: libc::pid_t, signal: i32) {
    // SAFETY: kill only takes numbers; a child is forgotten once it was waited for.
    unsafe { libc::kill(child, signal) };
}

/// Ends the process with the default action of a signal.
pub fn die_of(signal: i32) {
    // SAFETY: SIG_DFL is valid for every signal, and kill takes the process's own id.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::kill(libc::getpid(), signal);
    }
    loop {
        std::thread::park();
    }
}

/// Returns the name of a signal that is passed on.
pub fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "INT",
        SIGHUP => "HUP",
        _ => "TERM",
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: without a new action sigaction only fills in the present one, which is plain data.
    unsafe {
        let mut present: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut present) == 0
            && present.sa_sigaction == libc::SIG_IGN
    }
}
