use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::*;

/// A folder that is removed when the test ends.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(tempfile::Builder::new().prefix(name).tempdir().unwrap())
    }

    fn db(&self) -> PathBuf {
        self.0.path().join("metadata.db")
    }
}

fn run(id: u64) -> RunRow {
    RunRow {
        id,
        seed: Some(u64::MAX - id),
        steps: Some(10 + id),
        max_score: Some(1000 * id),
        highest_tile: Some(1 << 17),
    }
}

fn runs(reader: &DatabaseReader) -> Vec<RunRow> {
    let mut runs = Vec::new();
    reader
        .runs(|run| {
            runs.push(run);
            Ok::<(), ()>(())
        })
        .unwrap()
        .unwrap();
    runs
}

fn error_text(path: &Path) -> String {
    let text = match DatabaseReader::open(path) {
        Err(error) => error.to_string(),
        Ok(reader) => reader.runs(|_| Ok::<(), ()>(())).unwrap_err().to_string(),
    };
    text.replace(&path.display().to_string(), "DB")
}

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new("round-trip");
    let mut writer = DatabaseWriter::create(&folder.db()).unwrap();
    writer.put_run(&run(1)).unwrap();
    writer.put_run(&RunRow { id: 0, ..RunRow::default() }).unwrap();
    writer.put_run(&run(7)).unwrap();
    writer.put_run(&RunRow { steps: Some(3), ..run(7) }).unwrap();
    writer.put_session("run.0", "{}").unwrap();
    writer.put_session("a", "1").unwrap();
    writer.put_session("a", "ü").unwrap();
    writer.finish().unwrap();
    // Not in WAL mode: bytes 18 and 19 of the file are the write and read versions.
    assert_eq!(fs::read(folder.db()).unwrap()[18..20], [1, 1]);
    let reader = DatabaseReader::open(&folder.db()).unwrap();
    let expected =
        [RunRow { id: 0, ..RunRow::default() }, run(1), RunRow { steps: Some(3), ..run(7) }];
    assert_eq!(runs(&reader), expected);
    assert_eq!(reader.run_count().unwrap(), 3);
    assert_eq!(reader.run(1).unwrap(), Some(run(1)));
    assert_eq!(reader.run(2).unwrap(), None);
    assert_eq!(reader.run(u64::MAX).unwrap(), None);
    assert_eq!(reader.session("a").unwrap().as_deref(), Some("ü"));
    assert_eq!(reader.session("b").unwrap(), None);
    let mut keys = Vec::new();
    let all = reader.session_keys(|key, value| {
        keys.push((key.to_owned(), value.map(str::to_owned)));
        Ok::<(), ()>(())
    });
    all.unwrap().unwrap();
    let text = |s: &str| Some(s.to_owned());
    assert_eq!(keys, [("a".to_owned(), text("ü")), ("run.0".to_owned(), text("{}"))]);
    assert_eq!(reader.runs(|run| Err(run.id)).unwrap(), Err(0));
}

#[test]
fn an_existing_file_is_refused() {
    let folder = Folder::new("exists");
    fs::write(folder.db(), "").unwrap();
    let error = DatabaseWriter::create(&folder.db()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: the file exists", folder.db().display()));
}

#[test]
fn numbers_beyond_sqlites_are_refused() {
    let folder = Folder::new("large");
    let mut writer = DatabaseWriter::create(&folder.db()).unwrap();
    let error = writer.put_run(&RunRow { max_score: Some(1 << 63), ..run(0) }).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("metadata.db: `max_score` is too large for SQLite: 9223372036854775808")
    );
}

#[test]
fn a_missing_session_table_is_fine() {
    let folder = Folder::new("no-session");
    let connection = Connection::open(folder.db()).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE runs (ID INTEGER PRIMARY KEY, seed BIGINT, steps INT); \
                        INSERT INTO runs VALUES (3, -2, 9), (1, NULL, 8)",
        )
        .unwrap();
    drop(connection);
    let reader = DatabaseReader::open(&folder.db()).unwrap();
    assert!(!reader.has_other_session());
    assert_eq!(
        runs(&reader),
        [
            RunRow { id: 1, steps: Some(8), ..RunRow::default() },
            RunRow { id: 3, seed: Some(u64::MAX - 1), steps: Some(9), ..RunRow::default() }
        ]
    );
    assert_eq!(reader.session("a").unwrap(), None);
    assert_eq!(reader.session_keys(|_, _| Err(())).unwrap(), Ok(()));
}

#[test]
fn a_database_left_in_wal_mode_is_read_where_nothing_can_be_written() {
    let folder = Folder::new("wal ?#%");
    let connection = Connection::open(folder.db()).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; CREATE TABLE runs (id INTEGER PRIMARY KEY); \
                        INSERT INTO runs VALUES (5)",
        )
        .unwrap();
    drop(connection);
    assert_eq!(fs::read(folder.db()).unwrap()[18..20], [2, 2]);
    assert_eq!(
        runs(&DatabaseReader::open(&folder.db()).unwrap()),
        [RunRow { id: 5, ..RunRow::default() }]
    );
}

#[test]
fn what_is_no_such_database_is_refused() {
    let folder = Folder::new("refused");
    assert_eq!(error_text(&folder.db()), "DB: no such file");
    fs::write(folder.db(), "not a database, but long enough to have a header".repeat(50)).unwrap();
    assert_eq!(error_text(&folder.db()), "DB: not a valid SQLite database");
    fs::write(folder.db(), "").unwrap();
    assert_eq!(error_text(&folder.db()), "DB: no table `runs` with a column `id`");
    let connection = Connection::open(folder.db()).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE runs (id INTEGER PRIMARY KEY, steps INT); \
                        INSERT INTO runs VALUES (4, 'many')",
        )
        .unwrap();
    assert_eq!(error_text(&folder.db()), "DB: `runs` row 4: `steps` has a value of the wrong type");
    connection.execute_batch("UPDATE runs SET steps = -1").unwrap();
    assert_eq!(error_text(&folder.db()), "DB: `runs` row 4: `steps` has a value of the wrong type");
}

#[test]
fn keys_of_runs_are_told_from_others() {
    assert_eq!(run_key(17), "run.17");
    assert_eq!(run_of_key("run.17"), Some(17));
    assert_eq!(run_of_key("run.0"), Some(0));
    for key in ["run.", "run.017", "run.+1", "run.1x", "runs.1", "0.run.1", "session"] {
        assert_eq!(run_of_key(key), None, "{key}");
    }
}
