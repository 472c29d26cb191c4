//! Symbols and modules, row by row.

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
        ("worker", None, Category::Libuv),
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
        (
            "void v8::internal::LiveObjectVisitor::VisitBlackObjects<v8::internal::X>()",
            Category::Gc,
        ),
        (
            "v8::internal::BodyDescriptorBase::IteratePointers<v8::internal::IterateAndScavengePromotedObjectsVisitor>",
            Category::Gc,
        ),
        ("cppgc::internal::MarkerBase::AdvanceMarking", Category::Gc),
        ("cppgc::internal::ObjectAllocator::OutOfLineAllocate", Category::Runtime),
        (
            "heap::base::Stack::SetMarkerAndCallbackImpl<v8::internal::Heap::CollectGarbage",
            Category::Gc,
        ),
        ("PushAllRegistersAndIterateStack", Category::Gc),
        (
            "std::vector<std::unique_ptr<v8::internal::ItemParallelJob::Task> >::push_back",
            Category::Gc,
        ),
        (
            "std::vector<v8::internal::Map, v8::internal::ZoneAllocator<v8::internal::Map> >::insert",
            Category::Compiler,
        ),
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
