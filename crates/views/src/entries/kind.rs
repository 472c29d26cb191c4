//! What can ask for work: the kinds of entries, with the words for programs and for people.

use serde::{Serialize, Serializer};

/// Declares the kinds as a table: the word that users type and JSON holds, and what people read of one and of many.
macro_rules! kinds {
    ($($(#[$meta:meta])* $variant:ident = $word:literal, $one:literal, $many:literal;)*) => {
        /// What asked for work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EntryKind { $($(#[$meta])* $variant,)* }

        impl EntryKind {
            /// Every kind.
            pub const ALL: &'static [EntryKind] = &[$(EntryKind::$variant),*];

            /// The word that users type and JSON holds.
            pub fn word(self) -> &'static str {
                match self { $(EntryKind::$variant => $word),* }
            }

            /// What people read of one: `HTTP request`.
            pub fn one(self) -> &'static str {
                match self { $(EntryKind::$variant => $one),* }
            }

            /// What people read of many: `HTTP requests`.
            pub fn many(self) -> &'static str {
                match self { $(EntryKind::$variant => $many),* }
            }
        }
    };
}

kinds! {
    /// A request to a server of the program, over HTTP/1.
    Http = "http", "HTTP request", "HTTP requests";
    /// A request over HTTP/2.
    Http2 = "http2", "HTTP/2 request", "HTTP/2 requests";
    /// The answer to a request that the program made.
    HttpAnswer = "http-answer", "HTTP answer", "HTTP answers";
    /// A message of ws or socket.io.
    WebSocket = "websocket", "WebSocket message", "WebSocket messages";
    /// A field of a GraphQL query.
    Graphql = "graphql", "GraphQL resolver", "GraphQL resolvers";
    /// A call of a gRPC service.
    Grpc = "grpc", "gRPC call", "gRPC calls";
    /// A job or message of a queue.
    Job = "job", "queue job", "queue jobs";
    /// A test.
    Test = "test", "test", "tests";
    /// `setTimeout`, `setInterval`.
    Timer = "timer", "timer", "timers";
    /// `setImmediate`.
    Immediate = "immediate", "immediate", "immediates";
    /// `process.nextTick`.
    NextTick = "nexttick", "nextTick callback", "nextTick callbacks";
    /// `queueMicrotask`.
    Microtask = "microtask", "microtask", "microtasks";
    /// Data or the end of a socket, pipe or stream.
    Socket = "socket", "socket or stream event", "socket and stream events";
    /// The result of a job of the thread pool: files, DNS, crypto, zlib.
    Pool = "pool", "file or pool callback", "file and pool callbacks";
    /// A message of a worker or of another port.
    Message = "message", "worker message", "worker messages";
    /// A file that a linter checks or a bundler builds.
    Build = "build", "file being built", "files being built";
    /// Modules that are loaded: found, read, compiled, and their top-level code.
    Loading = "loading", "module loading", "module loading";
    /// The main script's top-level code, and what Node does before.
    Startup = "startup", "start-up", "start-up";
    /// A function that runs on after an await, and what called it first was not seen.
    AfterAwait = "await", "after await", "after await";
    /// JavaScript that no rule knows.
    Other = "other", "other JavaScript", "other JavaScript";
    /// Everything else: helper threads, the pool, the loop's own work.
    NotJavaScript = "none", "not JavaScript", "not JavaScript";
}

impl EntryKind {
    /// The kind of a word, as typed.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// What a function is that it calls: `the timer poll`; none where that is no name for a function.
    pub fn caller(self) -> Option<&'static str> {
        Some(match self {
            Self::Http => "HTTP handler",
            Self::Http2 => "HTTP/2 handler",
            Self::WebSocket => "WebSocket handler",
            Self::Grpc => "gRPC handler",
            Self::Socket => "stream handler",
            Self::Message => "message handler",
            Self::HttpAnswer | Self::Build => "function",
            kind if kind.is_kept() => kind.one(),
            _ => return None,
        })
    }

    /// `a timer`, `an HTTP request`
    pub fn with_article(self) -> String {
        let is_spoken_as_vowel = self.one().starts_with(['H', 'i']);
        format!("{} {}", if is_spoken_as_vowel { "an" } else { "a" }, self.one())
    }

    /// Whether a function that started so keeps it after an await: what begins a program goes on for ever.
    pub(crate) fn is_kept(self) -> bool {
        !matches!(
            self,
            Self::Loading | Self::Startup | Self::AfterAwait | Self::Other | Self::NotJavaScript
        )
    }
}

impl Serialize for EntryKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
