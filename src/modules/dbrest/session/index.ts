export type { Results, RowSink, Step } from './batch.ts';
export { openSession } from './open-session.ts';
export { ConnectionLost, UnexpectedResult } from './session.ts';
export type { Session, Verdict } from './session.ts';
export type { Column, Pg, Row, WireError } from './wire.ts';
