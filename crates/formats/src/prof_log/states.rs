//! What V8 was doing when a tick was taken. Its numbers changed with V8's version; V8's own tick processor
//! does not know that and shows old and new logs wrongly.

/// A state that explains a tick better than its address does, as V8's CPU profiler names such states; `None`
/// where the address is enough: JavaScript, other C++ of V8, Node and libraries.
pub(super) type State = Option<&'static str>;

const GC: State = Some("(garbage collector)");
const PARSER: State = Some("(parser)");
const BYTECODE_COMPILER: State = Some("(bytecode compiler)");
const COMPILER: State = Some("(compiler)");
const ATOMICS_WAIT: State = Some("(atomics wait)");
const IDLE: State = Some("(idle)");
const LOGGING: State = Some("(logging)");

/// The states by number, for V8 from this version on; the newest first. 0 is JavaScript, `None` elsewhere is
/// "other" and "external".
const STATES: &[(Version, &[State])] = &[
    (
        (8, 2), // Node 14
        &[
            None,
            GC,
            PARSER,
            BYTECODE_COMPILER,
            COMPILER,
            None,
            None,
            ATOMICS_WAIT,
            IDLE,
            LOGGING,
            IDLE,
        ],
    ),
    (
        (6, 6), // Node 10
        &[None, GC, PARSER, BYTECODE_COMPILER, COMPILER, None, None, IDLE],
    ),
    (
        (0, 0), // seen in Node 8
        &[None, GC, COMPILER, None, None, IDLE, PARSER, BYTECODE_COMPILER],
    ),
];

/// The first two numbers of V8's version.
pub(super) type Version = (u64, u64);

/// Without a version in the log, the newest is assumed.
pub(super) const NEWEST: Version = (u64::MAX, 0);

/// The state of a number, in the logs of a version of V8.
pub(super) fn state(version: Version, number: u64) -> State {
    let (_, states) = STATES.iter().find(|(since, _)| version >= *since)?;
    *states.get(usize::try_from(number).ok()?)?
}
