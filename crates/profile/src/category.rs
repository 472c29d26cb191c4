//! The fixed list of categories a frame can belong to, and the V8 tiers of a JavaScript frame.
//! The order is the order of legends and tables; the names are what users type and what files hold.

use serde::{Deserialize, Serialize};

/// Declares a fieldless enum with the word that files and the command line use for each row, and a label
/// for people.
macro_rules! named_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$row_meta:meta])* $variant:ident = $word:literal, $label:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum $name { $($(#[$row_meta])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// Every value, in the order of legends and tables.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word that files and the command line use.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }

            /// What people read.
            pub fn label(self) -> &'static str {
                match self { $($name::$variant => $label),* }
            }

            /// The value of a word, as typed.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }

            /// The value of a byte column's entry.
            pub fn from_u8(byte: u8) -> Option<Self> {
                Self::ALL.get(usize::from(byte)).copied()
            }
        }
    };
}

named_enum! {
    /// What kind of code a frame is. See [`crate::classify`] for the rules.
    Category {
        /// The application's own JavaScript.
        App = "app", "app";
        /// JavaScript of an npm package.
        Dependency = "dependency", "dependency";
        /// Node.js itself: its JavaScript (`node:fs`) and its C++ with the libraries linked into it.
        NodeCore = "node", "Node core";
        /// Code that V8 generated at its own build: `Array.prototype.map`, bytecode handlers, stubs.
        Builtin = "builtin", "V8 builtin";
        /// V8's C++.
        Runtime = "runtime", "V8 runtime";
        /// Garbage collection, and what it calls.
        Gc = "gc", "garbage collection";
        /// Parsing and compiling, and what they call.
        Compiler = "compiler", "compiler";
        /// Regular expressions: the engine and the code it generates.
        Regexp = "regexp", "regexp";
        /// WebAssembly code.
        Wasm = "wasm", "wasm";
        /// A native addon (`*.node`).
        Addon = "addon", "native addon";
        /// The event loop and its thread pool.
        Libuv = "libuv", "libuv";
        /// libc and other shared libraries, and programs that are not Node.
        System = "system", "system library";
        /// The kernel.
        Kernel = "kernel", "kernel";
        /// Not running: the idle loop of a CPU, or V8's `(idle)`.
        Idle = "idle", "idle";
        /// Nothing is known of this code.
        Unknown = "unknown", "unknown";
    }
}

impl Category {
    /// Whether what such code calls is a part of it: memset under GC is GC.
    pub fn claims_callees(self) -> bool {
        matches!(self, Category::Gc | Category::Compiler | Category::Regexp | Category::Idle)
    }
}

named_enum! {
    /// How V8 ran a JavaScript or WebAssembly function.
    Tier {
        /// Not JavaScript.
        None = "none", "–";
        /// JavaScript whose tier is not known.
        Unmarked = "unmarked", "unmarked";
        /// Bytecode, or unoptimised code before Node 8 (marker `~`).
        Ignition = "ignition", "interpreted";
        /// Sparkplug (marker `^`).
        Sparkplug = "sparkplug", "Sparkplug";
        /// Maglev, and Turboprop in Node 16 (marker `+`).
        Maglev = "maglev", "Maglev";
        /// TurboFan, and Crankshaft before Node 8 (marker `*`).
        Turbofan = "turbofan", "TurboFan";
        /// WebAssembly's baseline compiler.
        Liftoff = "liftoff", "Liftoff";
        /// WebAssembly optimised by TurboFan.
        WasmTurbofan = "wasm-turbofan", "TurboFan (wasm)";
    }
}

impl Tier {
    /// Whether this is a frame of a JavaScript function.
    pub fn is_javascript(self) -> bool {
        !matches!(self, Tier::None | Tier::Liftoff | Tier::WasmTurbofan)
    }
}

named_enum! {
    /// How a stack came to be under its parent.
    CallKind {
        /// The parent's frame called it.
        Call = "call", "call";
        /// The parent's frame awaits it: V8's memory shows it.
        Await = "await", "await";
        /// The parent's frame awaits it in other samples of the same function; in this one it was not known any more.
        InferredAwait = "inferred", "await (inferred)";
        /// Something may await it: that was not known any more.
        UnknownAwait = "unknown", "after await";
    }
}

impl CallKind {
    /// Whether the parent waits, and did not call.
    pub fn is_await(self) -> bool {
        matches!(self, CallKind::Await | CallKind::InferredAwait)
    }
}

named_enum! {
    /// What a thread is for.
    Role {
        /// The thread that runs a process's main event loop.
        MainLoop = "main", "main loop";
        /// A `worker_threads` worker.
        Worker = "worker", "worker_thread";
        /// A thread of libuv's pool: file system, DNS, crypto, zlib.
        LibuvPool = "pool", "thread pool";
        /// V8's helpers: concurrent marking, compiling.
        V8Platform = "v8", "V8's threads";
        /// Anything else, or not known.
        Other = "other", "other";
    }
}
