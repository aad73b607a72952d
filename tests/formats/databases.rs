//! `metadata.db` and `valuation_types.json` of others: reading changes nothing and ends.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::checks::games;
use crate::common::{TempDir, peak, tool};

/// A pack of two games, and a self-play pool of the same.
fn pools() -> TempDir {
    let dir = TempDir::new();
    games::make(&dir);
    dir
}

/// Changes the database of a pool, which then is not the one of its manifest.
fn sql(dir: &TempDir, pool: &str, statements: &str) {
    let _ = fs::remove_file(dir.at(&format!("{pool}/manifest.json")));
    let database = Connection::open(dir.at(&format!("{pool}/metadata.db"))).unwrap();
    database.execute_batch(statements).unwrap();
}

#[track_caller]
fn refuses(path: &str, part: &str) {
    tool("ds-cat").args(&[path, "-q"]).run().fails(1, &[part]);
}

/// Runs ds-check; what is quadratic takes much longer than this.
#[track_caller]
fn checks_soon(path: &str) -> String {
    let start = Instant::now();
    let checked = tool("ds-check").args(&[path]).run();
    assert!(start.elapsed() < Duration::from_secs(60), "{checked:?}");
    checked.text()
}

#[test]
fn a_pool_in_wal_mode_is_read_and_gets_no_files() {
    let dir = pools();
    for pool in ["pack", "v1"] {
        let path = dir.at(pool);
        let games = tool("ds-cat").args(&[&path, "-q"]).run().silent();
        sql(&dir, pool, "PRAGMA journal_mode = WAL");
        let (before, bytes) = (dir.files(), dir.read(&format!("{pool}/metadata.db")));
        let again = tool("ds-cat").args(&[&path, "-q"]).run().silent();
        assert!(again.stdout == games.stdout);
        let checked = tool("ds-check").args(&[&path]).run();
        assert!(checked.text().contains("pool.database.journal"), "{checked:?}");
        assert!(checked.text().contains("is in WAL mode"), "{checked:?}");
        assert_eq!(dir.files(), before);
        assert!(dir.read(&format!("{pool}/metadata.db")) == bytes);
        // With two slashes, relative, and with signs that mean something in a URI.
        assert!(
            tool("ds-cat").args(&[&format!("/{path}"), "-q"]).run().silent().stdout == games.stdout
        );
        let odd = format!("{pool} ?#%41&");
        fs::rename(&path, dir.at(&odd)).unwrap();
        let here = tool("ds-cat").args(&[&odd, "-q"]).in_directory(dir.path()).run().silent();
        assert!(here.stdout == games.stdout);
    }
}

/// The log of a writer that was killed: what is in it is neither ignored nor taken into the
/// database.
#[test]
fn a_log_with_changes_is_an_error() {
    let dir = pools();
    for pool in ["pack", "v1"] {
        let database = dir.at(&format!("{pool}/metadata.db"));
        let writer = Connection::open(&database).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; UPDATE runs SET max_score = 1").unwrap();
        let log = dir.read(&format!("{pool}/metadata.db-wal"));
        drop(writer);
        fs::remove_file(dir.at(&format!("{pool}/metadata.db-shm"))).ok();
        dir.write(&format!("{pool}/metadata.db-wal"), &log);
        let _ = fs::remove_file(dir.at(&format!("{pool}/manifest.json")));
        let before = dir.files();
        refuses(&dir.at(pool), "metadata.db: is not complete: the rest of it is in ");
        let checked = tool("ds-check").args(&[&dir.at(pool)]).run();
        assert_eq!(checked.code(), Some(1), "{checked:?}");
        assert!(checked.text().contains("metadata.db-wal"), "{checked:?}");
        assert_eq!(dir.files(), before);
        // A log of no frames, or of none: nothing is missing.
        for bytes in [0, 32] {
            dir.write(&format!("{pool}/metadata.db-wal"), &log[..bytes]);
            tool("ds-cat").args(&[&dir.at(pool), "-q"]).run().silent();
        }
    }
    // A journal that is to be rolled back, and one that was.
    for pool in ["pack", "v1"] {
        fs::remove_file(dir.at(&format!("{pool}/metadata.db-wal"))).unwrap();
        dir.write(&format!("{pool}/metadata.db-journal"), [0xd9; 512]);
        refuses(&dir.at(pool), "metadata.db-journal");
        dir.write(&format!("{pool}/metadata.db-journal"), [0; 512]);
        tool("ds-cat").args(&[&dir.at(pool), "-q"]).run().silent();
    }
}

#[test]
fn views_and_endless_queries_are_refused() {
    const ENDLESS: &str = "WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id FROM n)";
    let dir = pools();
    for pool in ["pack", "v1"] {
        let view = format!("DROP TABLE runs; CREATE VIEW runs AS {ENDLESS} SELECT id FROM n");
        sql(&dir, pool, &view);
        refuses(&dir.at(pool), "metadata.db: no table `runs`");
        let checked = tool("ds-check").args(&[&dir.at(pool)]).run();
        assert_eq!(checked.code(), Some(1), "{checked:?}");
        assert!(checked.text().contains("pool.database.form"), "{checked:?}");
    }
    let dir = pools();
    let view = format!(
        "DROP TABLE session; CREATE VIEW session AS {ENDLESS} SELECT id AS meta_key, id AS \
         meta_value FROM n"
    );
    sql(&dir, "pack", &view);
    tool("ds-cat").args(&[&dir.at("pack"), "-q"]).run().silent();
    let checked = tool("ds-check").args(&[&dir.at("pack")]).run();
    assert!(checked.text().contains("session is no table with meta_key"), "{checked:?}");
}

/// The contract has `session` as optional.
#[test]
fn a_pool_without_a_session_is_checked_and_merged() {
    let dir = pools();
    sql(&dir, "pack", "DROP TABLE session");
    let (pack, merged) = (dir.at("pack"), dir.at("merged"));
    let checked = tool("ds-check").args(&[&pack]).run().ok();
    assert!(!checked.text().contains("session"), "{checked:?}");
    tool("npy-pack").args(&[&pack, "-o", &merged]).run().ok();
    let own = |path: &str| tool("ds-cat").args(&[path, "-q"]).run().ok().stdout;
    assert!(own(&pack) == own(&merged));
}

/// The limit of steps is no obstacle where every row of the database takes a few bytes.
#[test]
fn a_query_may_take_what_the_rows_need() {
    let dir = pools();
    let many = "WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n LIMIT 300000)";
    sql(
        &dir,
        "v1",
        &format!(
            "INSERT INTO runs (id) {many} SELECT id FROM n; \
        CREATE TABLE a (x INT); INSERT INTO a {many} SELECT NULL FROM n; \
        CREATE TABLE b (x INT, y INT AS (x + x + x + x + x), CHECK (y = 5 * x)); \
        CREATE INDEX by_x ON b (x); CREATE INDEX by_y ON b (y); \
        INSERT INTO b {many} SELECT id FROM n"
        ),
    );
    let checked = tool("ds-check").args(&[&dir.at("v1")]).run();
    assert!(!checked.text().contains("pool.database"), "{checked:?}");
    let count = tool("ds-cat").args(&[&dir.at("v1"), "-q", "--count"]).run();
    assert_eq!(count.text(), "300002\n");
}

/// A pack of 100,000 games of one row each, whose first has none.
#[test]
fn a_first_game_without_steps_costs_nothing() {
    const GAMES: u32 = 100_000;
    const HEADER: usize = 384;
    let dir = pools();
    let shard = dir.read("pack/steps-00000.npy");
    let text = String::from_utf8(shard[10..HEADER].to_vec()).unwrap();
    let text = text.trim_end().replace("(32,)", &format!("({GAMES},)"));
    let mut rows = [&shard[..10], text.as_bytes()].concat();
    rows.resize(HEADER - 1, b' ');
    rows.push(b'\n');
    for id in 1..=GAMES {
        rows.extend(id.to_le_bytes());
        rows.extend(&shard[HEADER + 4..HEADER + 48]);
    }
    let shards = fs::read_dir(dir.at("pack")).unwrap().map(|entry| entry.unwrap().path());
    let others = shards.filter(|path| !path.ends_with("metadata.db"));
    others.for_each(|path| fs::remove_file(path).unwrap());
    dir.write("pack/steps-00000.npy", rows);
    let games =
        format!("WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT {GAMES})");
    let runs = format!(
        "DELETE FROM session; DELETE FROM runs; INSERT INTO runs (id, steps) VALUES (0, 0); \
         INSERT INTO runs (id, steps) {games} SELECT id, 1 FROM n"
    );
    sql(&dir, "pack", &runs);
    let found = checks_soon(&dir.at("pack"));
    assert!(found.contains("100,001 games") && !found.contains("pool.run"), "{found}");
    // A run that is not empty and not there is still found.
    sql(&dir, "pack", "UPDATE runs SET steps = 1 WHERE id = 0");
    assert!(checks_soon(&dir.at("pack")).contains("pool.run.ids"));
}

/// Ids of valuations are per pack: without their names nobody knows what they mean.
#[test]
fn valuations_without_names_are_unknown() {
    let dir = pools();
    let pack = dir.at("pack");
    let before = tool("ds-cat").args(&[&pack]).run().silent().text();
    assert!(before.contains(r#""valuation_type":"search""#));
    fs::remove_file(dir.at("pack/manifest.json")).unwrap();
    fs::rename(dir.at("pack/valuation_types.json"), dir.at("names.json")).unwrap();
    let games = tool("ds-cat").args(&[&pack]).run().silent();
    for game in games.records() {
        let steps = game["steps"].as_array().unwrap();
        assert!(!steps.is_empty() && steps.iter().all(|step| step["valuation_type"].is_null()));
    }
    let causes = ["`valuation_type` is null", "try: a valuation_types.json beside the rows"];
    let out = dir.at("out");
    tool("npy-pack").args(&["-o", &out]).input(games.stdout).run().fails(1, &causes);
    tool("npy-pack").args(&[&pack, "-o", &out]).run().fails(1, &causes);
    assert!(!fs::exists(&out).unwrap());
    let checked = tool("ds-check").args(&[&pack]).run();
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    assert!(checked.text().contains("pool.valuations.missing"), "{checked:?}");
    // With the file, as older packers numbered them.
    dir.write("pack/valuation_types.json", r#"{"tuple11": 0, "search": 1}"#);
    let games = tool("ds-cat").args(&[&pack]).run().silent().text();
    assert!(
        games == before.replace(r#""valuation_type":"search""#, r#""valuation_type":"tuple11""#)
    );
    tool("npy-pack").args(&[&pack, "-o", &out]).run().ok();
}

#[test]
fn many_valuations_are_read_at_once() {
    let dir = pools();
    let names: Vec<String> = (0..200_000).map(|id| format!("\"name{id}\": {id}")).collect();
    for pool in ["pack", "v1"] {
        let file = format!("{pool}/valuation_types.json");
        dir.write(&file, format!("{{{}}}", names.join(",")));
        let found = checks_soon(&dir.at(pool));
        assert!(found.contains("199990 others") && found.len() < 10_000, "{found}");
    }
}

/// A pool's own keys become a text of the first game's record; they are not in memory one by one.
#[test]
fn many_keys_are_in_memory_as_text() {
    let dir = pools();
    let more = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 500000) \
                INSERT INTO session (meta_key, meta_value) \
                SELECT printf('own.%06d', id), 'value' FROM n";
    sql(&dir, "pack", more);
    let mut child = tool("ds-cat").args(&[&dir.at("pack"), "--to", "arrow"]).spawn();
    drop(child.stdin.take());
    let mut out = child.stdout.take().unwrap();
    let drained = std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
    let peak = peak(&mut child) / 1024;
    let text = drained.join().unwrap().unwrap();
    // Its text has 10 MB, and is in memory a few times.
    assert!(text > 10_000_000, "{text}");
    assert!(peak <= 80, "{peak} MiB");
}
