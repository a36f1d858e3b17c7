export {
  type BodyTaker,
  type Pace,
  pacedBody,
  RangeTaker,
  Relay,
  roomFor,
  type Source,
  TAKES_NOTHING,
  UNPACED,
} from './relay.ts';
export { FileSender, PieceBuffers, type Sending, type SentFile, SMALL_FILE_BYTES } from './send-file.ts';
export { keepBody, spoolBody, spooledBody, type SpooledBody, spoolRules, type SpoolRules } from './spool.ts';
