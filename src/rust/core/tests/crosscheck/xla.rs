//! XLA as a child process: `tools/crosscheck.py`, which runs programs that it finds in files.

use anvil_core::shape::join;
use anvil_core::tensor::Aval;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A running XLA.
pub struct Xla {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    python: String,
    /// Its version, as jax says it.
    pub version: String,
}

impl Xla {
    /// Starts one in this Python.
    ///
    /// # Panics
    /// With what Python said, if it has no jax.
    pub fn start(python: &str) -> Xla {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../tools/crosscheck.py");
        // A new one for each process: the end of one takes its folder along.
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("anvil-crosscheck-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for programs");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{python} does not start: {e}"));
        let requests = child.stdin.take().expect("piped");
        let mut answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut version = String::new();
        answers.read_line(&mut version).expect("a line");
        assert!(version.starts_with("ready"), "{python} cannot run tools/crosscheck.py: is jax there?");
        let version = version["ready ".len()..].trim().into();
        Xla { child, requests, answers, folder, python: python.into(), version }
    }

    /// Runs a program; gives the bytes of its results, or what XLA says is wrong.
    pub fn run(
        &mut self,
        text: &str,
        inputs: &[(&Aval, &[u8])],
        outputs: &[&Aval],
    ) -> Result<Vec<Vec<u8>>, String> {
        self.transformed(text, None, inputs, outputs)
    }

    /// Has JAX transform a program, and runs it, if transformations are given; inputs and outputs are those of the
    /// program after them.
    pub fn transformed(
        &mut self,
        text: &str,
        transformations: Option<&str>,
        inputs: &[(&Aval, &[u8])],
        outputs: &[&Aval],
    ) -> Result<Vec<Vec<u8>>, String> {
        let [program, given, made] = ["program.mlir", "inputs", "outputs"].map(|name| self.folder.join(name));
        std::fs::write(&program, text).expect("a program is written");
        std::fs::write(&given, inputs.iter().flat_map(|(_, x)| x.iter().copied()).collect::<Vec<u8>>())
            .expect("inputs too");
        let types: Vec<String> =
            inputs.iter().map(|(aval, _)| format!("{}:{}", aval.dtype, join(&aval.shape, ","))).collect();
        let paths = [&program, &given, &made].map(|p| p.display().to_string());
        let last = transformations.map_or(String::new(), |words| format!("\t{words}"));
        writeln!(self.requests, "{}\t{}{last}", paths.join("\t"), types.join(" "))
            .map_err(|e| format!("XLA is gone: {e}"))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).map_err(|e| format!("XLA is gone: {e}"))?;
        if answer.is_empty() {
            let end = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            let python = std::mem::take(&mut self.python);
            *self = Xla::start(&python);
            return Err(format!("the process of XLA died ({end}) of\n{text}"));
        }
        if answer.trim() != "ok" {
            return Err(format!("{}\n{text}", answer.trim()));
        }
        let bytes = std::fs::read(&made).expect("outputs were written");
        let mut at = 0;
        Ok(outputs
            .iter()
            .map(|aval| {
                at += aval.bytes();
                bytes[at - aval.bytes()..at].to_vec()
            })
            .collect())
    }
}

impl Drop for Xla {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
