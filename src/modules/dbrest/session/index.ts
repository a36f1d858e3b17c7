export { openSession } from './open-session.ts';
export { ConnectionLost, UnexpectedResult } from './session.ts';
export type { Session } from './session.ts';
export type { Pg, Row, WireError } from './wire.ts';
