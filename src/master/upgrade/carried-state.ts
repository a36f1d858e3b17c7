import type { ErrorLog } from '../../log/index.ts';
import type { ZoneDeclaration } from '../../zone/index.ts';
import { MOST_PART_CHARS } from '../protocol.ts';
import { carriedKindOf, isCarriedKind, refusalOf } from './carried-kinds.ts';
import { askSupervisor } from './questions.ts';

/*
 * The state that an upgrade carries from the running program to the new one. A part is a JSON list of pieces with the
 * content of zones. The new program asks for one part after the other before its workers start. It adds to its zones
 * what it can, and serves whatever it gets: the running program may be another version, or in the hands of an attacker.
 */

/** Characters after which a part is complete. */
const PART_CHARS = 262_144;
/** Maximum number of characters of a piece. One piece more makes a part complete. */
const MOST_PIECE_CHARS = MOST_PART_CHARS - 2 * PART_CHARS;
/** Maximum number of characters of the whole state, and the time for it: a part of the time for the start. */
const MOST_CHARS = 64 * 1_048_576;
const MOST_MS = 5_000;
/** Number of reasons that are logged. */
const MOST_REASONS = 5;

/** A zone of a configuration, with its memory. */
export type OpenZone = readonly [declaration: ZoneDeclaration, buffer: SharedArrayBuffer];

/** A piece as it is read; none of it is trusted. */
interface Piece {
  readonly kind: unknown;
  readonly zone: unknown;
  readonly content: unknown;
}

/** Returns the parts of the state. What the zones contain is read when a part is asked for. */
export function* partsOf(zones: readonly OpenZone[]): Generator<string, undefined> {
  let pieces: string[] = [];
  let chars = 0;
  for (const piece of piecesOf(zones)) {
    pieces.push(piece);
    chars += piece.length;
    if (chars < PART_CHARS) continue;
    yield `[${pieces.join(',')}]`;
    [pieces, chars] = [[], 0];
  }
  if (pieces.length > 0) yield `[${pieces.join(',')}]`;
  return undefined;
}

function* piecesOf(zones: readonly OpenZone[]): Generator<string> {
  for (const [declaration, buffer] of zones) {
    const kind = carriedKindOf(declaration);
    if (!kind) continue;
    const head = { kind: kind.name, zone: declaration.name };
    for (const content of kind.pieces(buffer)) {
      const piece = JSON.stringify({ ...head, content });
      // The new program is told of what is left out.
      yield piece.length <= MOST_PIECE_CHARS ? piece : JSON.stringify({ ...head, content: null });
    }
  }
}

/** How a restoration asks for parts, and the clock for its time. */
interface Asking {
  /** Resolves to the next part; '' after the last one. Rejects if there is none in time. */
  readonly ask: (timeoutMs: number) => Promise<string>;
  readonly nowMs: () => number;
}

const SUPERVISOR: Asking = {
  ask: async (timeoutMs) => (await askSupervisor({ type: 'carry' }, 'carried', timeoutMs)).message.part,
  nowMs: () => performance.now(),
};

/** Asks the running program for its state, and adds it to the zones of this one. Never rejects. */
export async function restoreState(
  zones: readonly OpenZone[],
  log: ErrorLog,
  { ask, nowMs } = SUPERVISOR,
): Promise<void> {
  const untilMs = nowMs() + MOST_MS;
  const leftMs = (): number => {
    const left = untilMs - nowMs();
    if (left > 0) return left;
    throw new Error(`it takes longer than ${MOST_MS / 1_000} s`);
  };
  const restoration = new Restoration(zones, leftMs);
  let chars = 0;
  try {
    for (;;) {
      const part = await ask(leftMs());
      if (part === '') break;
      chars += part.length;
      if (chars > MOST_CHARS) throw new Error(`it has more than ${MOST_CHARS / 1_048_576} MiB`);
      restoration.add(part);
    }
  } catch (error) {
    restoration.reasons.add((error as Error).message);
  }
  const { pieces, reasons } = restoration;
  if (pieces > 0) log.write('notice', `${pieces} entries, events and sets of members were carried over`);
  if (reasons.size === 0) return;
  log.write('warn', `a part of the state was not carried over: ${[...reasons].join('; ')}`);
}

/** Adds parts of a state to zones. */
class Restoration {
  /** Number of pieces that were added. */
  pieces = 0;
  /** Why others were not. They contain nothing of the state, which may be secret. */
  readonly reasons = new Set<string>();
  readonly #zones: ReadonlyMap<unknown, OpenZone>;
  readonly #restorers = new Map<unknown, (piece: unknown) => void>();

  readonly #leftMs: () => number;

  /** `leftMs` throws if no time is left. */
  constructor(zones: readonly OpenZone[], leftMs: () => number) {
    this.#zones = new Map(zones.map((zone) => [zone[0].name, zone]));
    this.#leftMs = leftMs;
  }

  /** Throws if the part is malformed, or no time is left. */
  add(part: string): void {
    if (part.length > MOST_PART_CHARS) throw new Error('a part is too large');
    const hasRoom = part.length > MOST_PIECE_CHARS ? isPiece : () => true;
    for (const piece of listIn(part)) {
      this.#leftMs();
      this.#add({ ...(piece as Partial<Piece> | null) }, hasRoom);
    }
  }

  #add({ kind, zone, content }: Partial<Piece>, hasRoom: (content: unknown) => boolean): void {
    if (!isCarriedKind(kind)) {
      const label =
        typeof kind === 'string' && /^[\w ]{1,40}$/.test(kind) ? `"${kind}"` : 'that is malformed';
      return this.#refuse(`this program does not know the kind ${label}`);
    }
    const restore = this.#restorers.get(zone) ?? this.#restorerOf(zone, kind);
    if (!restore) return;
    try {
      if (content === null || !hasRoom(content))
        return this.#refuse(`zone "${String(zone)}": a piece is too large`);
      restore(content);
      this.pieces += 1;
    } catch (error) {
      this.#refuse(`zone "${String(zone)}": ${refusalOf(error)}`);
    }
  }

  /** As in a reload, what the configuration no longer has is dropped. */
  #restorerOf(zone: unknown, kind: string): ((piece: unknown) => void) | undefined {
    const [declaration, buffer] = this.#zones.get(zone) ?? [];
    const known = declaration && carriedKindOf(declaration);
    if (!buffer || !known || known.name !== kind) return undefined;
    const restore = known.restorer(buffer);
    this.#restorers.set(zone, restore);
    return restore;
  }

  #refuse(reason: string): void {
    if (this.reasons.size < MOST_REASONS) this.reasons.add(reason);
  }
}

/** Tells whether a content is short enough for a piece. */
function isPiece(content: unknown): boolean {
  return (JSON.stringify(content) ?? '').length <= MOST_PIECE_CHARS;
}

/** Throws if the text is not a JSON list. The error does not contain the text. */
function listIn(text: string): readonly unknown[] {
  try {
    const list = JSON.parse(text) as unknown;
    if (Array.isArray(list)) return list;
  } catch {
    // The message of the parser quotes the text.
  }
  throw new Error('it is malformed');
}
