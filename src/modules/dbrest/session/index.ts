export type { Results, RowSink, Step } from './batch.ts';
export type { Leftovers } from './leftovers.ts';
export { Listener } from './listener.ts';
export type { Hearing } from './listener.ts';
export { connect, openSession } from './open-session.ts';
export { ConnectionLost, UnexpectedResult } from './session.ts';
export type { Session, Verdict } from './session.ts';
export type { Column, Pg, Row, WireClient, WireError } from './wire.ts';
