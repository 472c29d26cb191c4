//! Native code by its symbol and its module. The module decides where it can (the kernel, a library, an
//! addon); inside Node's binary, and where no module is known (folded stacks), the symbol does.

use super::{
    Class, is_unknown,
    module::{Home, home_of},
    package::package_of,
    qualified::Qualified,
    role::role_of_thread,
};
use crate::category::Category;

/// The class of a symbol, which may be unknown, in a module, which may be unknown too.
pub(super) fn class_of<'a>(symbol: &str, module: Option<&'a str>) -> Class<'a> {
    let home = module.map_or(Home::Nowhere, home_of);
    let package = if home == Home::Addon { module.and_then(package_of) } else { None };
    Class { category: category_of(symbol, home), package }
}

fn category_of(symbol: &str, home: Home) -> Category {
    match home {
        Home::Kernel if is_idle(symbol) => Category::Idle,
        Home::Kernel => Category::Kernel,
        Home::Addon => Category::Addon,
        Home::Libuv => Category::Libuv,
        Home::System if is_unknown(symbol) => Category::System,
        Home::System => category_of_symbol(symbol).unwrap_or(Category::System),
        Home::Node | Home::Generated | Home::Nowhere if is_unknown(symbol) => Category::Unknown,
        Home::Node if symbol == LIBUV_POOL => Category::Libuv,
        Home::Node => category_of_symbol(symbol).unwrap_or(Category::NodeCore),
        Home::Generated if looks_like_stub(symbol) => Category::Builtin,
        Home::Generated => category_of_symbol(symbol).unwrap_or(Category::Unknown),
        Home::Nowhere => category_of_symbol(symbol).unwrap_or_else(|| category_of_homeless(symbol)),
    }
}

/// A frame of a folded stack. Its root is a thread's name.
fn category_of_homeless(symbol: &str) -> Category {
    if is_idle(symbol) {
        return Category::Idle;
    }
    let is_node_thread = || role_of_thread(symbol, Some(true)).is_some();
    find(HOMELESS, symbol).unwrap_or(if is_node_thread() { Category::NodeCore } else { Category::Unknown })
}

/// libuv's pool threads run a static function of this plain name.
const LIBUV_POOL: &str = "worker";

/// The rest of a stub's name, when V8 put a line break into it (Node 0.11 to 6).
fn looks_like_stub(symbol: &str) -> bool {
    symbol.ends_with("Stub") || symbol.contains("Stub(")
}

fn is_idle(symbol: &str) -> bool {
    IDLE.iter().any(|start| symbol.starts_with(start))
}

/// How the kernel's functions of an idle CPU begin. Not every xen_hypercall_ is: others run in any process.
const IDLE: &[&str] = &[
    "do_idle",
    "cpuidle",
    "cpu_idle",
    "cpu_startup_entry",
    "cpu_bringup_and_idle",
    "call_cpuidle",
    "intel_idle",
    "acpi_idle",
    "acpi_processor_ffh_cstate_enter",
    "acpi_safe_halt",
    "default_idle",
    "default_enter_idle",
    "arch_cpu_idle",
    "amd_e400_idle",
    "mwait_idle",
    "poll_idle",
    "haltpoll",
    "native_safe_halt",
    "pv_native_safe_halt",
    "xen_safe_halt",
    "xen_hypercall_sched_op",
    "psci_enter_idle",
    "cpu_do_idle",
];

/// The category that a symbol tells wherever it is; `None` when it tells nothing.
fn category_of_symbol(symbol: &str) -> Option<Category> {
    let path = Qualified::of(symbol);
    let path = path.as_str();
    if let Some(name) = path.strip_prefix("v8::internal::") {
        return Some(category_of_v8(name));
    }
    if let Some(category) = find(SYMBOLS, path) {
        return Some(category);
    }
    if TEMPLATES.iter().any(|start| path.starts_with(start)) {
        return category_of_argument(symbol);
    }
    None
}

/// Namespaces of templates that belong to whoever used them.
const TEMPLATES: &[&str] = &["std::", "__gnu_cxx::", "absl::", "heap::base::"];

/// A container or algorithm belongs to the first V8 or Node type in its arguments.
fn category_of_argument(symbol: &str) -> Option<Category> {
    if let Some((_, argument)) = symbol.split_once("v8::internal::") {
        return Some(category_of_v8(Qualified::of(argument).as_str()));
    }
    if let Some((_, argument)) = symbol.split_once("2v88internal") {
        return Some(category_of_v8(Qualified::of_mangled_names(argument).as_str()));
    }
    OWNERS.iter().find(|(owner, _)| symbol.contains(owner)).map(|(_, category)| *category)
}

const OWNERS: &[(&str, Category)] =
    &[("cppgc::", Category::Gc), ("heap::base::", Category::Gc), ("node::", Category::NodeCore)];

/// A name below v8::internal.
fn category_of_v8(name: &str) -> Category {
    if let Some(category) = find(V8, name) {
        return category;
    }
    if name.contains("RegExp") || name.contains("Regexp") {
        return Category::Regexp;
    }
    if is_crankshaft(name) { Category::Compiler } else { Category::Runtime }
}

/// Crankshaft, to Node 8: HGraphBuilder, HValue, LAllocator, LInstruction. Nobody else in V8 has two such
/// capitals (Heap, HashTable, LoadIC, LookupIterator).
fn is_crankshaft(name: &str) -> bool {
    matches!(name.as_bytes(), [b'H' | b'L', second, ..] if second.is_ascii_uppercase())
}

/// The first row that the name begins with. Looking at one byte first makes this three times as fast.
fn find(rows: &[(&str, Category)], name: &str) -> Option<Category> {
    let first = name.as_bytes().first();
    let fits = |start: &str| start.as_bytes().first() == first && name.starts_with(start);
    rows.iter().find(|(start, _)| fits(start)).map(|(_, category)| *category)
}

/// How symbols begin; the first row that fits counts.
const SYMBOLS: &[(&str, Category)] = &[
    ("Builtins_RegExp", Category::Regexp),
    ("Builtins_", Category::Builtin),
    ("v8::", Category::Runtime),
    ("v8_inspector::", Category::Runtime),
    ("v8_crdtp::", Category::Runtime),
    ("crdtp::", Category::Runtime),
    ("unibrow::", Category::Runtime),
    ("disasm::", Category::Runtime),
    ("cppgc::internal::ObjectAllocator", Category::Runtime),
    ("cppgc::internal::MakeGarbageCollected", Category::Runtime),
    ("cppgc::", Category::Gc),
    ("PushAllRegistersAndIterateStack", Category::Gc),
    ("uv_", Category::Libuv),
    ("node::", Category::NodeCore),
    ("v8impl::", Category::NodeCore),
    ("napi_", Category::NodeCore),
    ("node_api_", Category::NodeCore),
    ("node_module_register", Category::NodeCore),
];

/// How names below v8::internal begin; the first row that fits counts. What no row claims is the runtime.
const V8: &[(&str, Category)] = &[
    // Compilers: TurboFan and Turboshaft, Maglev, Sparkplug, Ignition's bytecode generator.
    ("compiler::", Category::Compiler),
    ("maglev::", Category::Compiler),
    ("baseline::", Category::Compiler),
    ("interpreter::", Category::Compiler),
    ("Compilation", Category::Compiler),
    ("CompileVisitor", Category::Regexp), // of the experimental engine
    ("CompiledReplacement", Category::Regexp),
    ("Compile", Category::Compiler),
    ("OptimizedCompil", Category::Compiler),
    ("OptimizingCompil", Category::Compiler),
    ("UnoptimizedCompil", Category::Compiler),
    ("ReusableUnoptimizedCompil", Category::Compiler),
    ("ConcurrentBaseline", Category::Compiler),
    ("TurbofanCompil", Category::Compiler),
    ("LazyCompileDispatcher", Category::Compiler),
    ("BackgroundCompileTask", Category::Compiler),
    ("BackgroundDeserializeTask", Category::Compiler),
    ("BackgroundMergeTask", Category::Compiler),
    ("StressBackgroundCompile", Category::Compiler),
    ("FinalizeUnoptimized", Category::Compiler),
    ("GetOrCompile", Category::Compiler),
    ("GetOptimizedCode", Category::Compiler),
    ("ExecuteSingleUnoptimized", Category::Compiler),
    ("IterativelyExecuteAndFinalize", Category::Compiler),
    ("TieringManager", Category::Compiler),
    ("RuntimeProfiler", Category::Compiler),
    ("CodeSerializer", Category::Compiler),
    ("SerializedCodeData", Category::Compiler),
    ("CodeGenerator", Category::Compiler),
    ("DoGenerateCode", Category::Compiler),
    ("HydrogenCodeStub", Category::Compiler),
    ("NamedLoadHandlerCompiler", Category::Compiler),
    ("NamedStoreHandlerCompiler", Category::Compiler),
    ("ElementHandlerCompiler", Category::Compiler),
    ("PropertyAccessCompiler", Category::Compiler),
    ("PropertyHandlerCompiler", Category::Compiler),
    ("PropertyICCompiler", Category::Compiler),
    ("CodeStubGraphBuilder", Category::Compiler),
    ("FullCodeGen", Category::Compiler),
    ("TypeFeedbackOracle", Category::Compiler),
    ("TypeImpl", Category::Compiler),
    ("LiveRange", Category::Compiler),
    ("Assembler", Category::Compiler),
    ("MacroAssembler", Category::Compiler),
    ("TurboAssembler", Category::Compiler),
    ("SharedMacroAssembler", Category::Compiler),
    ("SharedTurboAssembler", Category::Compiler),
    ("SourcePositionTableBuilder", Category::Compiler),
    ("SafepointTableBuilder", Category::Compiler),
    ("MaglevSafepointTableBuilder", Category::Compiler),
    ("FrameTranslationBuilder", Category::Compiler),
    ("TranslationArrayBuilder", Category::Compiler),
    ("Runtime_Compile", Category::Compiler),
    ("Runtime_StartMaglev", Category::Compiler),
    ("Runtime_StartTurbofan", Category::Compiler),
    ("Runtime_BaselineOsr", Category::Compiler),
    ("Runtime_InstallBaselineCode", Category::Compiler),
    ("Runtime_TryInstallOptimizedCode", Category::Compiler),
    ("Runtime_WasmCompile", Category::Compiler),
    ("Runtime_WasmTriggerTierUp", Category::Compiler),
    ("Runtime_TierUp", Category::Compiler),
    // WebAssembly: what runs, then what compiles.
    ("wasm::WasmInterpreter", Category::Wasm),
    ("wasm::ThreadImpl", Category::Wasm),
    ("wasm::InstanceBuilder", Category::Runtime),
    ("wasm::InstantiateToInstance", Category::Runtime),
    ("wasm::WasmCode", Category::Runtime),
    ("wasm::WasmEngine", Category::Runtime),
    ("wasm::WasmMemoryTracker", Category::Runtime),
    ("wasm::DebugInfo", Category::Runtime),
    ("wasm::memory_", Category::Runtime),
    ("wasm::array_", Category::Runtime),
    ("wasm::table_", Category::Runtime),
    ("wasm::float", Category::Runtime),
    ("wasm::f32", Category::Runtime),
    ("wasm::f64", Category::Runtime),
    ("wasm::int64_", Category::Runtime),
    ("wasm::uint64_", Category::Runtime),
    ("wasm::word", Category::Runtime),
    ("wasm::", Category::Compiler),
    ("AsmJs", Category::Compiler),
    ("AsmTyper", Category::Compiler),
    // The parser.
    ("parsing::", Category::Compiler),
    ("Parser", Category::Compiler),
    ("ParseInfo", Category::Compiler),
    ("PreParse", Category::Compiler),
    ("PreparseData", Category::Compiler),
    ("CompleteParserRecorder", Category::Compiler),
    ("DuplicateFinder", Category::Compiler),
    ("PendingCompilationErrorHandler", Category::Compiler),
    ("ProducedPreParsedScopeData", Category::Compiler),
    ("ConsumedPreParsedScopeData", Category::Compiler),
    ("BaseConsumedPreparseData", Category::Compiler),
    ("OnHeapConsumedPreparseData", Category::Compiler),
    ("ZoneConsumedPreparseData", Category::Compiler),
    ("Scanner", Category::Compiler),
    ("Scope::", Category::Compiler),
    ("DeclarationScope", Category::Compiler),
    ("ClassScope", Category::Compiler),
    ("ModuleScope", Category::Compiler),
    ("ExpressionScope", Category::Compiler),
    ("ExpressionParsingScope", Category::Compiler),
    ("ExpressionClassifier", Category::Compiler),
    ("PatternRewriter", Category::Compiler),
    ("Rewriter", Category::Compiler),
    ("Processor", Category::Compiler),
    ("FuncNameInferrer", Category::Compiler),
    ("FunctionLiteral", Category::Compiler),
    ("ObjectLiteral", Category::Compiler),
    ("ArrayLiteral", Category::Compiler),
    ("VariableProxy", Category::Compiler),
    ("VariableMap", Category::Compiler),
    ("Variable::", Category::Compiler),
    ("Ast", Category::Compiler),
    ("SourceRangeAstVisitor", Category::Compiler),
    ("BufferedCharacterStream", Category::Compiler),
    ("BufferedUtf16CharacterStream", Category::Compiler),
    ("UnbufferedCharacterStream", Category::Compiler),
    ("Utf8ExternalStreamingStream", Category::Compiler),
    ("Utf8ToUtf16CharacterStream", Category::Compiler),
    ("Utf16CharacterStream", Category::Compiler),
    ("GenericStringUtf16CharacterStream", Category::Compiler),
    ("ExternalOneByteStringUtf16CharacterStream", Category::Compiler),
    ("ExternalTwoByteStringUtf16CharacterStream", Category::Compiler),
    ("ExternalStreamingStream", Category::Compiler),
    ("ChunkedStream", Category::Compiler),
    // Zones are memory of parsers and compilers.
    ("Zone", Category::Compiler),
    ("AccountingAllocator", Category::Compiler),
    // Garbage collection: the heap's entry points. (Allocation is the runtime's.)
    ("Heap::Collect", Category::Gc),
    ("Heap::PreciseCollect", Category::Gc),
    ("Heap::GarbageCollection", Category::Gc),
    ("Heap::PerformGarbageCollection", Category::Gc),
    ("Heap::PerformSharedGarbageCollection", Category::Gc),
    ("Heap::PerformRequestedGC", Category::Gc),
    ("Heap::PerformIdleTimeAction", Category::Gc),
    ("Heap::IdleNotification", Category::Gc),
    ("Heap::HandleGCRequest", Category::Gc),
    ("Heap::HandleExternalMemoryInterrupt", Category::Gc),
    ("Heap::ReportExternalMemoryPressure", Category::Gc),
    ("Heap::MemoryPressureNotification", Category::Gc),
    ("Heap::CheckCollectionRequested", Category::Gc),
    ("Heap::CheckMemoryPressure", Category::Gc),
    ("Heap::RequestAndWaitForCollection", Category::Gc),
    ("Heap::TriggerAndWaitForGC", Category::Gc),
    ("Heap::CallGC", Category::Gc),
    ("Heap::DevToolsTraceEventScope", Category::Gc),
    ("Heap::Scavenge", Category::Gc),
    ("Heap::DoScavenge", Category::Gc),
    ("Heap::EvacuateYoungGeneration", Category::Gc),
    ("Heap::Mark", Category::Gc),
    ("Heap::MinorMark", Category::Gc),
    ("Heap::Unmark", Category::Gc),
    ("Heap::FinalizeIncrementalMarking", Category::Gc),
    ("Heap::StartIncrementalMarking", Category::Gc),
    ("Heap::StartIdleIncrementalMarking", Category::Gc),
    ("Heap::StartMinorM", Category::Gc),
    ("Heap::AdvanceIdleIncrementalMarking", Category::Gc),
    ("Heap::TryFinalizeIdleIncrementalMarking", Category::Gc),
    ("Heap::InvokeIncrementalMarking", Category::Gc),
    ("Heap::Process", Category::Gc),
    ("Heap::Iterate", Category::Gc),
    ("Heap::UpdateYoungReference", Category::Gc),
    ("Heap::UpdateNewSpaceReference", Category::Gc),
    ("Heap::UpdateReferencesInExternalStringTable", Category::Gc),
    ("Heap::UpdateSurvivalStatistics", Category::Gc),
    ("Heap::ExternalStringTable", Category::Gc),
    ("Heap::VisitExternalResources", Category::Gc),
    ("Heap::CompactWeak", Category::Gc),
    ("Heap::CompactFixedArraysOfWeakCells", Category::Gc),
    ("Heap::CompactRetainedMaps", Category::Gc),
    ("Heap::EnsureSweeping", Category::Gc),
    ("Heap::EnsureYoungSweeping", Category::Gc),
    ("Heap::EnsureQuarantinedPagesSweeping", Category::Gc),
    ("Heap::CompleteSweeping", Category::Gc),
    ("Heap::CompleteArrayBufferSweeping", Category::Gc),
    ("Heap::DrainSweeping", Category::Gc),
    ("Heap::FinishSweeping", Category::Gc),
    ("Heap::PauseSweeping", Category::Gc),
    ("Heap::UnmapFreeMemoryTask", Category::Gc),
    ("Heap::FreeQueuedChunks", Category::Gc),
    ("Heap::RecomputeLimits", Category::Gc),
    ("Heap::ReduceNewSpaceSize", Category::Gc),
    ("Heap::ResizeNewSpace", Category::Gc),
    ("LocalHeap::Safepoint", Category::Gc),
    ("LocalHeap::SleepInSafepoint", Category::Gc),
    ("LocalHeap::PerformCollection", Category::Gc),
    ("LocalHeap::TryPerformCollection", Category::Gc),
    ("MemoryAllocator::Unmapper", Category::Gc),
    ("GlobalHandles::Identify", Category::Gc),
    ("GlobalHandles::Invoke", Category::Gc),
    ("GlobalHandles::Iterate", Category::Gc),
    ("GlobalHandles::Mark", Category::Gc),
    ("GlobalHandles::PendingPhantomCallback", Category::Gc),
    ("GlobalHandles::Post", Category::Gc),
    ("GlobalHandles::Process", Category::Gc),
    ("GlobalHandles::Update", Category::Gc),
    ("TracedHandles::Iterate", Category::Gc),
    ("TracedHandles::Mark", Category::Gc),
    ("TracedHandles::Process", Category::Gc),
    ("TracedHandles::Reset", Category::Gc),
    ("TracedHandles::Update", Category::Gc),
    // Its collectors, visitors, jobs and bookkeeping.
    ("Scaveng", Category::Gc),
    ("NewSpaceScavenger", Category::Gc),
    ("RootScaveng", Category::Gc),
    ("StaticScaveng", Category::Gc),
    ("IterateAndScaveng", Category::Gc),
    ("IdleScaveng", Category::Gc),
    ("StressScaveng", Category::Gc),
    ("Mark", Category::Gc),
    ("MainMarking", Category::Gc),
    ("CodeMarking", Category::Gc),
    ("RootMarking", Category::Gc),
    ("StaticMarking", Category::Gc),
    ("StaticNewSpaceVisitor", Category::Gc),
    ("SharedFunctionInfoMarking", Category::Gc),
    ("DependentFunctionMarker", Category::Gc),
    ("IncrementalMarking", Category::Gc),
    ("ConcurrentMarking", Category::Gc),
    ("ConcurrentSweeper", Category::Gc),
    ("ConcurrentUnifiedHeap", Category::Gc),
    ("MutatorUnifiedHeap", Category::Gc),
    ("UnifiedHeap", Category::Gc),
    ("MinorMark", Category::Gc),
    ("MinorGC", Category::Gc),
    ("ScheduleMinorGC", Category::Gc),
    ("YoungGeneration", Category::Gc),
    ("FullEvacuat", Category::Gc),
    ("Evacuat", Category::Gc),
    ("PageEvacuation", Category::Gc),
    ("PageMarkingItem", Category::Gc),
    ("PageParallelJob", Category::Gc),
    ("ItemParallelJob", Category::Gc),
    ("PointersUpdating", Category::Gc),
    ("ToSpaceUpdating", Category::Gc),
    ("RememberedSet", Category::Gc),
    ("RecordMigratedSlot", Category::Gc),
    ("PromotedPageRecordMigratedSlot", Category::Gc),
    ("ProfilingMigrationObserver", Category::Gc),
    ("PrecisePagePinning", Category::Gc),
    ("ObjectPinning", Category::Gc),
    ("TreatConservatively", Category::Gc),
    ("Conservative", Category::Gc),
    ("BodyDescriptor", Category::Gc),
    ("FlexibleBody", Category::Gc),
    ("FixedBody", Category::Gc),
    ("FixedRangeBody", Category::Gc),
    ("SuffixRange", Category::Gc),
    ("SubclassBody", Category::Gc),
    ("HeapVisitor", Category::Gc),
    ("NewSpaceVisitor", Category::Gc),
    ("LiveObjectVisitor", Category::Gc),
    ("ParallelClearingJob", Category::Gc),
    ("PromotionQueue", Category::Gc),
    ("Worklist", Category::Gc),
    ("Bitmap", Category::Gc),
    ("ConcurrentBitmap", Category::Gc),
    ("CodeFlusher", Category::Gc),
    ("InvalidatedSlots", Category::Gc),
    ("StoreBuffer", Category::Gc),
    ("SlotSet", Category::Gc),
    ("TypedSlot", Category::Gc),
    ("WeakObjects", Category::Gc),
    ("VisitWeakList", Category::Gc),
    ("InternalizedStringTableCleaner", Category::Gc),
    ("StringTableCleaner", Category::Gc),
    ("ExternalStringTableCleaner", Category::Gc),
    ("StringForwardingTableCleaner", Category::Gc),
    ("FullStringForwardingTableCleaner", Category::Gc),
    ("ClearStaleLeftTrimmed", Category::Gc),
    ("FixStaleLeftTrimmed", Category::Gc),
    ("CppHeap", Category::Gc),
    ("CppMarking", Category::Gc),
    ("LocalEmbedderHeapTracer", Category::Gc),
    ("Sweep", Category::Gc),
    ("ArrayBufferSweeper", Category::Gc),
    ("ArrayBufferCollector", Category::Gc),
    ("ArrayBufferTracker", Category::Gc),
    ("LocalArrayBufferTracker", Category::Gc),
    ("WriteBarrier", Category::Gc),
    ("PretenuringHandler", Category::Gc),
    ("GC", Category::Gc),
    ("AsyncGC", Category::Gc),
    ("CollectorBase", Category::Gc),
    ("CollectionBarrier", Category::Gc),
    ("IsolateSafepoint", Category::Gc),
    ("GlobalSafepoint", Category::Gc),
    ("MemoryReducer", Category::Gc),
    ("MemoryBalancer", Category::Gc),
    ("MemoryController", Category::Gc),
    ("MemoryPressureInterruptTask", Category::Gc),
    ("MemoryMeasurement", Category::Gc),
    ("FieldStatsCollector", Category::Gc),
    ("ObjectStats", Category::Gc),
    // Regular expressions whose names do not say so: the nodes and analyses of Irregexp.
    ("Irregexp", Category::Regexp),
    ("NfaInterpreter", Category::Regexp),
    ("ActionNode", Category::Regexp),
    ("AssertionNode", Category::Regexp),
    ("BackReferenceNode", Category::Regexp),
    ("ChoiceNode", Category::Regexp),
    ("LoopChoiceNode", Category::Regexp),
    ("NegativeLook", Category::Regexp),
    ("NegativeSubmatch", Category::Regexp),
    ("EndNode", Category::Regexp),
    ("TextNode", Category::Regexp),
    ("TextElement", Category::Regexp),
    ("Analysis", Category::Regexp),
    ("Trace::", Category::Regexp),
    ("BoyerMoore", Category::Regexp),
    ("CharacterRange", Category::Regexp),
    ("DispatchTable", Category::Regexp),
    ("QuickCheckDetails", Category::Regexp),
    ("GreedyLoopState", Category::Regexp),
    ("UnicodeRangeSplitter", Category::Regexp),
];

/// Only where no module is known: how the symbols begin of libraries that are linked into Node, of the C
/// library, and of the kernel's doors.
const HOMELESS: &[(&str, Category)] = &[
    ("llhttp", Category::NodeCore),
    ("http_parser_", Category::NodeCore),
    ("nghttp2_", Category::NodeCore),
    ("ares_", Category::NodeCore),
    ("icu_", Category::NodeCore),
    ("ada::", Category::NodeCore),
    ("ncrypto::", Category::NodeCore),
    ("simdjson::", Category::NodeCore),
    ("simdutf::", Category::NodeCore),
    ("EVP_", Category::NodeCore),
    ("SSL_", Category::NodeCore),
    ("BIO_", Category::NodeCore),
    ("CRYPTO_", Category::NodeCore),
    ("OPENSSL_", Category::NodeCore),
    ("HMAC_", Category::NodeCore),
    ("ZSTD_", Category::NodeCore),
    ("Brotli", Category::NodeCore),
    ("sqlite3", Category::NodeCore),
    ("__libc_", Category::System),
    ("__GI_", Category::System),
    ("_start", Category::System),
    ("start_thread", Category::System),
    ("__clone", Category::System),
    ("clone3", Category::System),
    ("malloc", Category::System),
    ("_int_malloc", Category::System),
    ("_int_free", Category::System),
    ("_int_realloc", Category::System),
    ("__memcpy", Category::System),
    ("__memmove", Category::System),
    ("__memset", Category::System),
    ("__memcmp", Category::System),
    ("__strlen", Category::System),
    ("__pthread_", Category::System),
    ("pthread_", Category::System),
    ("operator", Category::System),
    ("std::", Category::System),
    ("entry_SYSCALL_64", Category::Kernel),
    ("do_syscall_64", Category::Kernel),
    ("__x64_sys_", Category::Kernel),
    ("__arm64_sys_", Category::Kernel),
    ("__se_sys_", Category::Kernel),
    ("__do_sys_", Category::Kernel),
    ("asm_exc_", Category::Kernel),
    ("asm_sysvec_", Category::Kernel),
    ("asm_common_interrupt", Category::Kernel),
    ("el0_", Category::Kernel),
    ("el0t_", Category::Kernel),
    ("ret_from_fork", Category::Kernel),
    ("system_call_fastpath", Category::Kernel),
];

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Option<&str> = Some("/usr/bin/node");
    const LIBC: Option<&str> = Some("/usr/lib/x86_64-linux-gnu/libc.so.6");
    const KERNEL: Option<&str> = Some("[kernel.kallsyms]");
    const MAP: Option<&str> = Some("/tmp/perf-4140.map");

    #[test]
    fn modules_decide() {
        let rows: &[(&str, Option<&str>, Category)] = &[
            ("memcpy", LIBC, Category::System),
            ("worker", LIBC, Category::System),
            ("[unknown]", LIBC, Category::System),
            ("__vdso_gettimeofday", Some("[vdso]"), Category::System),
            ("main", Some("/usr/bin/bash"), Category::System),
            ("tcp_sendmsg", KERNEL, Category::Kernel),
            ("worker_thread", KERNEL, Category::Kernel),
            ("[unknown]", KERNEL, Category::Kernel),
            ("nf_conntrack_in", Some("[nf_conntrack]"), Category::Kernel),
            ("bpf_prog_6deef7357e7b4530_sd_fw_ingress", Some("[bpf]"), Category::Kernel),
            ("cpuidle_enter_state", KERNEL, Category::Idle),
            ("intel_idle_irq", KERNEL, Category::Idle),
            ("default_idle_call", KERNEL, Category::Idle),
            ("native_safe_halt", KERNEL, Category::Idle),
            ("xen_hypercall_sched_op", KERNEL, Category::Idle),
            ("xen_hypercall_xen_version", KERNEL, Category::Kernel),
            ("uv_hash", Some("/srv/build/Release/addon.node"), Category::Addon),
            ("v8::Local<v8::Value>::New", Some("/srv/build/Release/addon.node"), Category::Addon),
            ("[unknown]", Some("/srv/build/Release/addon.node"), Category::Addon),
            ("[unknown]", Some("/usr/lib/libuv.so.1.0.0"), Category::Libuv),
            ("worker", Some("/usr/lib/libuv.so.1.0.0"), Category::Libuv),
            ("v8::internal::Heap::Scavenge", Some("/usr/lib/libnode.so.108"), Category::Gc),
            ("v8::internal::Heap::Scavenge", Some("/opt/electron/electron"), Category::Gc),
            ("deflate", Some("/opt/electron/electron"), Category::System),
            ("[unknown]", NODE, Category::Unknown),
            ("", NODE, Category::Unknown),
            ("0x7f3a2b", NODE, Category::Unknown),
            ("[unknown]", MAP, Category::Unknown),
            ("METHOD)", MAP, Category::Unknown),
            ("CallICStub(args(4), METHOD, ", MAP, Category::Builtin),
            ("lambda_1", Some("/tmp/jitted-4140-17.so"), Category::Unknown),
            ("[unknown]", Some("[unknown]"), Category::Unknown),
            ("[unknown]", Some("//anon"), Category::Unknown),
            ("[unknown]", Some("[heap]"), Category::Unknown),
            ("[unknown]", None, Category::Unknown),
            ("foo", None, Category::Unknown),
            ("do_idle", None, Category::Idle),
            ("node", None, Category::NodeCore),
            ("libuv-worker", None, Category::NodeCore),
            ("bash", None, Category::Unknown),
            ("EVP_DigestUpdate", None, Category::NodeCore),
            ("_int_malloc", None, Category::System),
            ("std::string::append", None, Category::System),
            ("entry_SYSCALL_64_after_hwframe", None, Category::Kernel),
        ];
        for (symbol, module, category) in rows {
            assert_eq!(class_of(symbol, *module).category, *category, "{symbol} {module:?}");
        }
    }

    #[test]
    fn addons_have_packages() {
        let class = class_of("Encrypt", Some("/srv/node_modules/bcrypt/lib/bcrypt_lib.node"));
        assert_eq!(class, Class { category: Category::Addon, package: Some("bcrypt") });
        let class = class_of("Encrypt", Some("/srv/node_modules/node/bin/node"));
        assert_eq!(class, Class { category: Category::NodeCore, package: None });
    }

    #[test]
    fn symbols_of_node() {
        let rows: &[(&str, Category)] = &[
            ("v8::internal::Heap::CollectGarbage", Category::Gc),
            ("_ZN2v88internal4Heap14CollectGarbageENS0_15AllocationSpaceE", Category::Gc),
            ("v8::internal::Heap::AllocateRawWithRetryOrFail", Category::Runtime),
            ("v8::internal::Scavenger::Process(v8::JobDelegate*)", Category::Gc),
            ("v8::internal::ScavengerCollector::JobTask::Run", Category::Gc),
            ("v8::internal::MarkCompactCollector::ClearNonLiveReferences", Category::Gc),
            ("v8::internal::ConcurrentMarking::RunMajor", Category::Gc),
            ("v8::internal::Sweeper::RawSweep", Category::Gc),
            ("v8::internal::IncrementalMarkingJob::Task::RunInternal", Category::Gc),
            ("void v8::internal::LiveObjectVisitor::VisitBlackObjects<v8::internal::X>()", Category::Gc),
            (
                "v8::internal::BodyDescriptorBase::IteratePointers<v8::internal::IterateAndScavengePromotedObjectsVisitor>",
                Category::Gc,
            ),
            ("cppgc::internal::MarkerBase::AdvanceMarking", Category::Gc),
            ("cppgc::internal::ObjectAllocator::OutOfLineAllocate", Category::Runtime),
            ("heap::base::Stack::SetMarkerAndCallbackImpl<v8::internal::Heap::CollectGarbage", Category::Gc),
            ("PushAllRegistersAndIterateStack", Category::Gc),
            ("std::vector<std::unique_ptr<v8::internal::ItemParallelJob::Task> >::push_back", Category::Gc),
            ("_ZNSt6vectorIN2v88internal6maglev8NodeBaseES3_E9push_backEv", Category::Compiler),
            ("v8::internal::compiler::PipelineImpl::OptimizeGraph", Category::Compiler),
            ("v8::internal::compiler::JSCallReducer::ReduceRegExpPrototypeTest", Category::Compiler),
            ("v8::internal::maglev::MaglevGraphBuilder::EndPrologue", Category::Compiler),
            ("v8::internal::baseline::BaselineCompiler::GenerateCode", Category::Compiler),
            ("v8::internal::interpreter::BytecodeGenerator::VisitRegExpLiteral", Category::Compiler),
            ("v8::internal::ParserBase<v8::internal::PreParser>::ParseBlock", Category::Compiler),
            ("v8::internal::PreParser::PreParseFunction", Category::Compiler),
            ("v8::internal::Compiler::Compile", Category::Compiler),
            ("v8::internal::OptimizingCompileDispatcher::CompileNext", Category::Compiler),
            ("v8::internal::OptimizingCompilerThread::CompileNext", Category::Compiler),
            ("v8::internal::Runtime_CompileLazy", Category::Compiler),
            ("v8::internal::(anonymous namespace)::GetOrCompileOptimized", Category::Compiler),
            ("v8::internal::HOptimizedGraphBuilder::VisitBlock", Category::Compiler),
            ("v8::internal::LAllocator::Allocate", Category::Compiler),
            ("v8::internal::wasm::LiftoffCompiler::BinOp", Category::Compiler),
            ("v8::internal::wasm::memory_copy_wrapper", Category::Runtime),
            ("v8::internal::RegExpImpl::IrregexpExecRaw", Category::Regexp),
            ("v8::internal::NativeRegExpMacroAssembler::Match", Category::Regexp),
            ("v8::internal::Runtime_StringReplaceGlobalRegExpWithString", Category::Regexp),
            ("v8::internal::ChoiceNode::Emit", Category::Regexp),
            ("Builtins_RegExpPrototypeExec", Category::Regexp),
            ("Builtins_ArrayMap", Category::Builtin),
            ("v8::internal::LoadIC::Load", Category::Runtime),
            ("v8::internal::LookupIterator::Next", Category::Runtime),
            (
                "v8::internal::HashTable<v8::internal::StringTable, v8::internal::Shape>::FindEntry",
                Category::Runtime,
            ),
            ("v8::internal::JsonStringifier::Serialize_<false>", Category::Runtime),
            ("v8::internal::Builtin_ArrayShift", Category::Runtime),
            ("v8::Function::Call", Category::Runtime),
            ("v8::base::OS::TimeCurrentMillis", Category::Runtime),
            ("v8_inspector::V8InspectorImpl::idleStarted", Category::Runtime),
            ("uv_run", Category::Libuv),
            ("uv__io_poll", Category::Libuv),
            ("worker", Category::Libuv),
            ("node::SpinEventLoop", Category::NodeCore),
            (
                "non-virtual thunk to node::LibuvStreamWrap::DoTryWrite(uv_buf_t**, unsigned long*)",
                Category::NodeCore,
            ),
            ("v8::Local<v8::Object> node::ERR_INVALID_ARG<>(v8::Isolate*)", Category::NodeCore),
            ("napi_create_object", Category::NodeCore),
            ("v8impl::RefTracker::Finalize", Category::NodeCore),
            ("llhttp__internal__run", Category::NodeCore),
            ("SSL_read", Category::NodeCore),
            ("deflate.part.0", Category::NodeCore),
            ("icu_78::RuleBasedCollator::compare", Category::NodeCore),
            ("std::vector<int>::push_back", Category::NodeCore),
            ("memcpy@plt", Category::NodeCore),
            ("_start", Category::NodeCore),
        ];
        for (symbol, category) in rows {
            assert_eq!(class_of(symbol, NODE).category, *category, "{symbol}");
        }
    }
}
