/* The protocol of leases and of admission, as the cells of a key and of a queue decide it.
 *
 * One message is one decision, made whole: its changes, the grants that follow from them and the answers are
 * one atomic step, as they are one transaction of the store.  `protocol.pml` lets runs talk to these cells;
 * a trace of the simulation is played against the same cells by a file that `traces.py` writes.
 *
 * Sizes: R runs, K keys, P places of a run at which it can hold a key, Q tickets of one key.
 * NUMBERS keeps the numbers of tickets and fences, which the decisions do not depend on and which make many
 * states of one; without them the order of tickets is still checked, by who came before whom.
 * The BUG_ macros each put one fault in: with any of them a check must fail.
 */

#ifndef P
#define P 2
#endif
#ifndef Q
#define Q R
#endif
#define NOBODY 255

mtype = { acquire, release, release_all, withdraw, refence, join, leave };
mtype = { granted, reentered, queued, skipped, conflict, refenced, deadlock, admitted, stopped };
mtype = { wait_policy, latest_policy, supersede_policy };

/* --- a key: limit, holders with their fences and places, tickets in order --- */

byte limit[K];                 /* 0 while nobody holds or waits */
byte places[K * R];            /* bits of the places at which the run holds the key; 0: it does not */
byte ticket_run[K * Q];        /* the tickets of a key in their order */
byte ticket_place[K * Q];
byte tickets[K];               /* how many there are */
byte earlier[K * R];           /* for the checks: bits of the runs that waited when this one came, and still do */
#ifdef NUMBERS
byte next_ticket[K];           /* counted from 0 here; never set back */
byte next_fence[K];
byte fence[K * R];
byte ticket_number[K * Q];
#define FENCE(k, r) fence[(k) * R + r]
#define TICKET(k) next_ticket[k]
#else
#define FENCE(k, r) 0
#define TICKET(k) 0
#endif

/* --- a queue of one workflow: slots and places in line --- */

bool slot[R];
byte line[R + 1];              /* runs in their order */
byte line_limit[R];            /* by run */
byte line_key[R];              /* by run; 0: no supersession key */
byte in_line;
bool stop[R];                  /* a durable request to stop */

/* What the runs are told is the matter of who includes this. */
#ifndef ANSWER
#define ANSWER(r, what, k, p, n)
#endif

inline count_holders(k) {
    holders = 0;
    for (i : 0 .. R - 1) {
        if :: places[(k) * R + i] -> holders++ :: else fi
    }
}

inline grant(k, r, p) {
    /* A lease that begins: the next fence, which nobody had before. */
#ifdef NUMBERS
    fence[(k) * R + r] = next_fence[k];
    next_fence[k]++;
#endif
    places[(k) * R + r] = 1 << (p);
    ANSWER(r, granted, k, p, FENCE(k, r))
}

inline take_ticket(k, at) {
    /* Out of the line; those behind move up, and nobody came later than this one any more. */
    for (j : 0 .. R - 1) { earlier[(k) * R + j] = earlier[(k) * R + j] & ~(1 << ticket_run[(k) * Q + at]) }
    for (j : at .. tickets[k] - 1) {
        if
        :: j + 1 < tickets[k] ->
            ticket_run[(k) * Q + j] = ticket_run[(k) * Q + j + 1];
            ticket_place[(k) * Q + j] = ticket_place[(k) * Q + j + 1];
#ifdef NUMBERS
            ticket_number[(k) * Q + j] = ticket_number[(k) * Q + j + 1]
#endif
        :: else -> ticket_run[(k) * Q + j] = 0; ticket_place[(k) * Q + j] = 0
        fi
    }
    tickets[k]--
}

inline serve(k) {
    /* Grants in the order of the tickets while there is room; a grant serves all tickets of its run. */
#ifndef BUG_LOST
    do
    :: tickets[k] > 0 ->
        count_holders(k);
#ifdef BUG_LIMIT
        if :: holders > limit[k] -> break :: else fi;
#else
        if :: holders >= limit[k] -> break :: else fi;
#endif
#ifdef BUG_ORDER
        at = tickets[k] - 1;
#else
        at = 0;
#endif
        who = ticket_run[(k) * Q + at];
        assert(earlier[(k) * R + who] == 0);                   /* in order: nobody who came before still waits */
        assert(places[(k) * R + who] == 0);                    /* nobody is granted twice */
        place = ticket_place[(k) * Q + at];
        take_ticket(k, at);
        grant(k, who, place);
        at = 0;
        do
        :: at < tickets[k] && ticket_run[(k) * Q + at] == who ->
            place = ticket_place[(k) * Q + at];
            places[(k) * R + who] = places[(k) * R + who] | (1 << place);
            take_ticket(k, at);
            ANSWER(who, reentered, k, place, FENCE(k, who))
        :: at < tickets[k] && ticket_run[(k) * Q + at] != who -> at++
        :: at >= tickets[k] -> break
        od
    :: else -> break
    od;
#endif
    count_holders(k);
    if :: holders == 0 && tickets[k] == 0 -> limit[k] = 0 :: else fi;
    at = 0; who = 0; place = 0
}

inline key_takes(what, r, k, p, wants, waits) {
    /* The decision of a key on one message; `wants` is the limit asked with, `waits` whether to queue. */
    if
    :: what == acquire ->
        count_holders(k);
        if
        :: limit[k] != 0 && limit[k] != wants -> ANSWER(r, conflict, k, p, 0)
        :: (limit[k] == 0 || limit[k] == wants) && places[(k) * R + r] != 0 ->
            places[(k) * R + r] = places[(k) * R + r] | (1 << (p));
            ANSWER(r, reentered, k, p, FENCE(k, r))
        :: (limit[k] == 0 || limit[k] == wants) && places[(k) * R + r] == 0 ->
            if
            :: tickets[k] == 0 && holders < wants -> limit[k] = wants; grant(k, r, p)
            :: !(tickets[k] == 0 && holders < wants) && !(waits) -> ANSWER(r, skipped, k, p, 0)
            :: !(tickets[k] == 0 && holders < wants) && waits ->
                ticket_run[(k) * Q + tickets[k]] = r;
                ticket_place[(k) * Q + tickets[k]] = p;
                for (j : 0 .. Q - 1) {
                    if
                    :: j < tickets[k] && ticket_run[(k) * Q + j] != r ->
                        earlier[(k) * R + r] = earlier[(k) * R + r] | (1 << ticket_run[(k) * Q + j])
                    :: else
                    fi
                }
                tickets[k]++;
                ANSWER(r, queued, k, p, TICKET(k));
#ifdef NUMBERS
                ticket_number[(k) * Q + tickets[k] - 1] = next_ticket[k];
                next_ticket[k]++
#endif
            fi
        fi
    :: what == release || what == release_all ->
        if
        :: what == release_all ->
            at = 0;
            do
            :: at < tickets[k] && ticket_run[(k) * Q + at] == r -> take_ticket(k, at)
            :: at < tickets[k] && ticket_run[(k) * Q + at] != r -> at++
            :: at >= tickets[k] -> break
            od;
            places[(k) * R + r] = 0
        :: else ->
            places[(k) * R + r] = places[(k) * R + r] & ~(1 << (p))
        fi;
#ifdef NUMBERS
        if :: places[(k) * R + r] == 0 -> fence[(k) * R + r] = 0 :: else fi;
#endif
        serve(k)
    :: what == withdraw ->
        at = 0;
        do
        :: at < tickets[k] && ticket_run[(k) * Q + at] == r && ticket_place[(k) * Q + at] == p -> take_ticket(k, at)
        :: at < tickets[k] && !(ticket_run[(k) * Q + at] == r && ticket_place[(k) * Q + at] == p) -> at++
        :: at >= tickets[k] -> break
        od;
        serve(k)
    :: what == refence ->
        if
        :: places[(k) * R + r] != 0 ->
#ifdef NUMBERS
            fence[(k) * R + r] = next_fence[k];
            next_fence[k]++;
#endif
            ANSWER(r, refenced, k, p, FENCE(k, r))
        :: else
        fi
    fi;
    /* What must be true of a key after every decision. */
    count_holders(k);
    assert(limit[k] == 0 || holders <= limit[k]);              /* never more holders than the limit */
    assert(limit[k] != 0 || (holders == 0 && tickets[k] == 0));
    assert(tickets[k] == 0 || holders == limit[k]);            /* nobody waits while there is room */
#ifdef NUMBERS
    for (i : 0 .. R - 1) {
        for (j : 0 .. R - 1) {                                 /* no fence is given twice */
            assert(i == j || places[(k) * R + i] == 0 || places[(k) * R + j] == 0 ||
                   fence[(k) * R + i] != fence[(k) * R + j])
        }
    }
#endif
    i = 0; j = 0; holders = 0; at = 0
}

/* --- admission --- */

inline leave_line(r) {
    at = 0;
    do
    :: at < in_line && line[at] == r ->
        for (j : at .. in_line - 1) { line[j] = line[j + 1] }
        in_line--
    :: at < in_line && line[at] != r -> at++
    :: at >= in_line -> break
    od;
    at = 0; j = 0
}

inline admit() {
    /* From the head, while its own limit has room. */
    do
    :: in_line > 0 ->
        holders = 0;
        for (i : 0 .. R - 1) { if :: slot[i] -> holders++ :: else fi }
        if :: holders >= line_limit[line[0]] -> break :: else fi;
        who = line[0];
        leave_line(who);
        slot[who] = true;
        ANSWER(who, admitted, 0, 0, 0)
    :: else -> break
    od;
    i = 0; who = 0; holders = 0
}

inline queue_takes(what, r, wants, policy, skey) {
    if
    :: what == join ->
        line_limit[r] = wants;
        line_key[r] = skey;
        at = in_line;
        if
        :: policy != wait_policy && skey != 0 ->
            for (i : 0 .. in_line - 1) {
                if :: at == in_line && i < in_line && line_key[line[i]] == skey -> at = i :: else fi
            }
            if
            :: at < in_line ->                             /* it takes the place of the replaced run */
                stop[line[at]] = true;
                ANSWER(line[at], stopped, 0, 0, 0);
                line[at] = r
            :: else -> line[in_line] = r; in_line++
            fi;
            if
            :: policy == supersede_policy ->
                for (i : 0 .. R - 1) {
                    if :: slot[i] && line_key[i] == skey -> stop[i] = true; ANSWER(i, stopped, 0, 0, 0) :: else fi
                }
            :: else
            fi
        :: else -> line[in_line] = r; in_line++
        fi
    :: what == leave ->
        leave_line(r);
        slot[r] = false
    fi;
    at = 0; i = 0;
    admit();
    /* Nobody waits at the head while there is room for it. */
    if
    :: in_line > 0 ->
        holders = 0;
        for (i : 0 .. R - 1) { if :: slot[i] -> holders++ :: else fi }
        assert(holders >= line_limit[line[0]])
    :: else
    fi;
    i = 0; holders = 0
}
