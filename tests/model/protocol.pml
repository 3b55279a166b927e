/* Runs that talk to keys and to a queue through the inbox of the store, in every order.
 *
 * Each run joins the queue, and once admitted takes keys: it waits or skips where a key is busy, keeps a lease
 * for a section or to its end, so that it may wait while it holds, and may lose its worker meanwhile.  Anybody
 * may ask it to stop at any moment.  A message and its answer are separate steps, so that whatever can
 * happen between them does.  ROUNDS bounds how many leases a run asks for.
 *
 * Checked: the assertions of `cells.pml`; no state in which nothing goes on though a run has not ended; that
 * at the end nothing is held, waited for or active; and that every run that waits is served or ends (`served`), or is admitted (`admitted_in_time`).
 */

#ifndef R
#define R 3
#endif
#ifndef K
#define K 2
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef SLOTS
#define SLOTS R
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef POLICY
#define POLICY wait_policy
#endif
#define SKEY (POLICY == wait_policy -> 0 : 1)
#define Q R

byte told[R];                  /* the answer that a run has not read yet; 0: none */
#define ANSWER(r, what, k, p, n) if :: what != refenced && what != admitted && what != stopped -> told[r] = what :: else fi;

#include "cells.pml"

chan inbox = [R * 4] of { mtype, byte, byte, bool };

bool done[R];                  /* nothing more comes from this run */
byte ended;

/* For the properties: a run waits where it has a ticket. */
#define waits(r) (tickets[0] > 0 && (ticket_run[0] == r || (tickets[0] > 1 && ticket_run[1] == r) || (tickets[0] > 2 && ticket_run[2] == r)) || \
                  tickets[K - 1] > 0 && (ticket_run[K * Q - Q] == r || (tickets[K - 1] > 1 && ticket_run[K * Q - Q + 1] == r) || (tickets[K - 1] > 2 && ticket_run[K * Q - Q + 2] == r)))

inline key_waited_for(r) {
    /* The key for which the run has a ticket, or NOBODY. */
    other = NOBODY;
    for (n : 0 .. K - 1) {
        for (i : 0 .. Q - 1) {
            if :: i < tickets[n] && ticket_run[n * Q + i] == r -> other = n :: else fi
        }
    }
}

inline judge(r) {
    /* Stuck is whoever waits for a key whose holders are all stuck: the greatest set for which that holds. */
    for (m : 0 .. R - 1) {
        key_waited_for(m);
        stuck[m] = (other != NOBODY)
    }
    for (round : 1 .. R) {
        for (m : 0 .. R - 1) {
            key_waited_for(m);
            if
            :: stuck[m] ->
                for (i : 0 .. R - 1) {
                    if :: places[other * R + i] != 0 && !stuck[i] -> stuck[m] = false :: else fi
                }
            :: else
            fi
        }
    }
    if :: stuck[r] -> told[r] = deadlock :: else fi;
    for (m : 0 .. R - 1) { stuck[m] = false }
    m = 0; n = 0; i = 0; round = 0; other = 0
}

active proctype Store() {
    mtype what;
    byte r, k, i, j, at, who, place, holders, m, n, round, other;
    bool waiting;
    bool stuck[R];
end:
    do
    :: d_step { inbox?what,r,k,waiting ->
        if
        :: what == join -> queue_takes(join, r, SLOTS, POLICY, SKEY)
        :: what == leave ->
            queue_takes(leave, r, SLOTS, POLICY, SKEY);
            told[r] = 0;
            done[r] = true;
            ended++
        :: else ->
            key_takes(what, r, k, 0, LIMIT, waiting);
#ifndef BUG_JUDGE
            if :: what == acquire && told[r] == queued -> judge(r) :: else fi
#endif
        fi;
        what = 0; r = 0; k = 0; waiting = false }
    od
}

#ifdef ADMISSION
#define MAY_BEGIN(r) slot[r]
#else
#define MAY_BEGIN(r) true
#endif
#define answered (told[r] != 0 && told[r] != queued)

proctype Run(byte r) {
    /* One turn is one step: what it posts goes into the inbox together, in its order. */
    byte rounds, k;
#ifdef ADMISSION
    inbox!join,r,0,false;
#endif
    do
    :: atomic { stop[r] -> break }                     /* what it waits for or holds is given back below */
    :: atomic {
        !stop[r] && (rounds == 0 && MAY_BEGIN(r) || rounds > 0 && answered) ->
        if
        :: told[r] == granted || told[r] == reentered ->
#ifdef NUMBERS
            if
            :: skip
            :: inbox!refence,r,k,false                 /* the worker of a protected section was lost */
            fi;
#endif
            if
            :: inbox!release,r,k,false                 /* the section ends */
            :: skip                                    /* a claim to the end of the run */
            fi
        :: told[r] == deadlock -> break                /* the wait fails, and with it the run */
        :: else
        fi;
        told[r] = 0;
        k = 0;
        if
        :: rounds < ROUNDS && 0 != K - 1 -> k = 0; inbox!acquire,r,k,true
        :: rounds < ROUNDS -> k = K - 1; inbox!acquire,r,k,true
        :: rounds < ROUNDS -> k = K - 1; inbox!acquire,r,k,false
        :: true -> break
        fi;
        rounds++ }
    od;
    atomic {
        rounds = 0;
        k = 0;
        inbox!release_all,r,0,false;
        if :: K > 1 -> inbox!release_all,r,K - 1,false :: else fi;
        inbox!leave,r,0,false }
}

active proctype Stopper() {
    /* A person cancels one of the runs, or nobody does. */
    if
    :: skip
    :: stop[0] = true
    :: stop[1] = true
    :: stop[2] = true
    fi
}

init {
    byte i;
    atomic {
        for (i : 0 .. R - 1) { run Run(i) }
        i = 0
    }
    /* The end: nothing is left of anybody. */
    (ended == R);
    d_step {
        for (i : 0 .. K * R - 1) { assert(places[i] == 0) }
        for (i : 0 .. K - 1) { assert(tickets[i] == 0 && limit[i] == 0) }
        for (i : 0 .. R - 1) { assert(!slot[i]) }
        assert(in_line == 0)
    }
}

ltl served { [] (waits(0) -> <> !waits(0)) }
ltl admitted_in_time { [] ((in_line > 0 && line[0] == 0 && !slot[0]) -> <> (slot[0] || done[0] || stop[0])) }
