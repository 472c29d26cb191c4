//! What is encoded is understood as it was meant, and nothing else is.

use super::*;

/// One of each kind, with every field set.
fn all() -> Vec<Message> {
    let text = String::from;
    vec![
        Message::Read(ReadOrder {
            rings: text("7:4096,9:4096"),
            events: vec![1, u64::MAX],
            next_row: 5,
            leaves_memory: true,
            excluded_tids: vec![11, 12],
            journal: Some(-3),
            watched: vec![77],
            pause_us: 42_000,
            fast_pause_us: 4_200,
        }),
        Message::Read(ReadOrder::default()),
        Message::Records(vec![1, 2, 3]),
        Message::Look(LookOrder {
            pid: 1,
            name: text("né de"),
            depth: Depth::Stacks,
            next_row: 4,
            wants_suspended: true,
        }),
        Message::Close(u32::MAX),
        Message::Released,
        Message::Batch(Batch {
            records: vec![9; 70],
            samples: 1,
            next_row: 2,
            trying: 3,
            taken: 1 << 40,
        }),
        Message::Alive,
        Message::Frame(NamedFrame { row: 1, bytes: b"JS:~a \xff".to_vec() }),
        Message::Script(RanScript {
            name: b"a".to_vec(),
            map_url: b"b".to_vec(),
            text: b"c".to_vec(),
        }),
        Message::Thread(Seen {
            tid: 7,
            is_running: true,
            syscall: Some(232),
            chain: vec![(1, 2), (3, u64::MAX)],
            why: Some(text("because")),
        }),
        Message::Thread(Seen::default()),
        Message::Hint(Hint { what: text("what"), hint: text("") }),
        Message::Suspended(SuspendedFunctions {
            is_known: true,
            functions: 5,
            waiting: 3,
            places: vec![(7, 2), (8, 3)],
            chains: vec![WaitingChain { count: 3, rows: vec![7, 8], end: 1 }],
            bytes: 1 << 40,
            is_cut: true,
        }),
        Message::Suspended(SuspendedFunctions::default()),
    ]
}

#[test]
fn every_message_is_understood_as_it_was_meant() {
    let bytes: Vec<u8> = all().iter().flat_map(Message::encode).collect();
    let mut input = &bytes[..];
    for message in all() {
        assert_eq!(Message::read(&mut input).ok().flatten(), Some(message));
    }
    assert!(matches!(Message::read(&mut input), Ok(None)), "the end");
    // In pieces of every size.
    for size in [1, 2, 3, 7, 64, bytes.len()] {
        let (mut incoming, mut got) = (Incoming::default(), Vec::new());
        for piece in bytes.chunks(size) {
            incoming.push(piece);
            while let Some(message) = incoming.next_message().expect("it is whole") {
                got.push(message);
            }
        }
        assert_eq!(got, all(), "pieces of {size}");
    }
}

#[test]
fn whatever_arrives_is_a_message_or_none() {
    for message in all() {
        let bytes = message.encode();
        for end in 0..bytes.len() {
            let mut incoming = Incoming::default();
            incoming.push(&bytes[..end]);
            assert!(matches!(incoming.next_message(), Ok(None)), "{message:?} cut at {end}");
            assert!(matches!(Message::read(&mut &bytes[..end]), Ok(None)));
            // By its length it is whole, though it is not.
            if let Some(body) = bytes.get(4..end) {
                assert_ne!(Message::decode(body).as_ref(), Some(&message));
            }
        }
        for at in 0..bytes.len() {
            for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut mutant = bytes.clone();
                mutant[at] = byte;
                let mut incoming = Incoming::default();
                incoming.push(&mutant);
                // What comes out, comes out: it ends, and needs no more memory than there are bytes.
                while let Ok(Some(_)) = incoming.next_message() {}
                let _ = Message::read(&mut &mutant[..]);
            }
        }
    }
}

#[test]
fn lengths_and_counts_that_are_made_up_are_refused() {
    let mut incoming = Incoming::default();
    incoming.push(&u32::MAX.to_le_bytes());
    assert!(incoming.next_message().is_err() && Message::read(&mut &[0xff; 8][..]).is_err());
    // An empty message, an unknown kind, more than a message has, a depth that there is not.
    for body in [&[][..], &[99], &[4, 0], &[2, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0]] {
        assert_eq!(Message::decode(body), None, "{body:?}");
    }
    let list = [&[0, 0, 0, 0, 0][..], &u32::MAX.to_le_bytes(), &[0; 32]].concat();
    assert_eq!(Message::decode(&list), None);
}
