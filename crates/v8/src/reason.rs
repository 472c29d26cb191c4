//! Why a frame has no JavaScript name. Countable: a profile counts the frames that it could not name, by reason.

/// Why a frame was not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// V8's own frame (entry, exit, stub) or native code: there is nothing to name.
    NotJavaScript,
    /// A builtin: its symbol is its name.
    Builtin,
    /// Machine code that is no function's: a regular expression, WebAssembly, a trampoline.
    OtherCode,
    /// The copy of the stack ends before the frame does.
    StackCut,
    /// Memory could not be read: the object has died, or the process has.
    Unreadable,
    /// What stands there is another kind of object: it has died or moved.
    WrongType,
    /// The frame and the heap disagree: something moved in between.
    Mismatch,
    /// No code object covers the instruction.
    NoCode,
    /// A length or a depth beyond all sense.
    TooLarge,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NotJavaScript,
        Self::Builtin,
        Self::OtherCode,
        Self::StackCut,
        Self::Unreadable,
        Self::WrongType,
        Self::Mismatch,
        Self::NoCode,
        Self::TooLarge,
    ];

    /// What people read.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotJavaScript => "not a JavaScript frame",
            Self::Builtin => "a builtin",
            Self::OtherCode => "generated code that is no function",
            Self::StackCut => "the copy of the stack was too short",
            Self::Unreadable => "its memory could not be read",
            Self::WrongType => "its objects had moved or died",
            Self::Mismatch => "frame and heap disagreed",
            Self::NoCode => "no code object found",
            Self::TooLarge => "a length beyond all sense",
        }
    }

    /// Whether this is a JavaScript frame that should have got a name.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::NotJavaScript | Self::Builtin | Self::OtherCode)
    }
}
