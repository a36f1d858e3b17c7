import { ResolveFault } from '../request-host.ts';

/** nginx's numbers and words for what a name server said, by c-ares' codes. */
const REASONS: Readonly<Record<string, string>> = {
  EFORMERR: '1: Format error',
  EBADNAME: '1: Format error',
  ESERVFAIL: '2: Server failure',
  ENOTFOUND: '3: Host not found',
  ENODATA: '3: Host not found',
  ENOTIMP: '4: Unimplemented',
  EREFUSED: '5: Operation refused',
};
const TIMED_OUT = '110: Operation timed out';

/** A name that could not be resolved. */
export class NameFault extends ResolveFault {
  /** See `isAbsence`. */
  readonly isAbsent: boolean;

  constructor(name: string, error: unknown) {
    super(`${name} could not be resolved (${REASONS[codeOf(error)] ?? TIMED_OUT})`);
    this.isAbsent = isAbsence(error);
  }
}

/** There is no such name, or it has no address: this is an answer, unlike silence. */
export function isAbsence(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}
