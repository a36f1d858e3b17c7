import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerScope } from '../../contract/index.ts';
import { removeLeftovers, replaceDurably, systemFailure } from '../../system/index.ts';
import { type Membership, MEMBER_CODES, MemberFault, readMembers } from '../../upstream/index.ts';
import type { Counter } from '../../zone/index.ts';

const SCHEMA = 1;
const MAX_BYTES = 4 * 1024 * 1024;
const ERRORS = {
  name: 'gw_upstream_journal_errors_total',
  help: 'Writes of the journal of an upstream that failed.',
};

/** A writer that is silent for so long is replaced; the others check at this interval. */
const SILENCE_MS = 5000;
const LOOK_MS = 5;
/** Longest time for which a response waits for the journal. */
const PATIENCE_MS = 5000;

/** The group that a journal belongs to. */
interface JournalTarget {
  readonly path: string;
  readonly target: string;
  readonly source: string;
  readonly membership: Membership;
  /** Identifies the servers of the configuration. */
  readonly configured: string;
}

/**
 * The file that keeps the members of a group for the next start. Another file is written, flushed and renamed: whenever
 * the machine stops, it contains the old set or the new one.
 */
export class Journal {
  readonly #target: JournalTarget;
  readonly #worker: WorkerScope;
  readonly #errors: Counter;

  constructor(target: JournalTarget, worker: WorkerScope) {
    this.#target = target;
    this.#worker = worker;
    this.#errors = worker.metrics.counter(ERRORS, { upstream: target.target });
  }

  /**
   * Activates the members of the file if none has changed since the start and the file belongs to the servers of the
   * configuration. Returns true if it did.
   */
  async restore(): Promise<boolean> {
    const { path, target, membership } = this.#target;
    if (membership.text.revision > 0) return false;
    await removeLeftovers(path);
    let text: string;
    try {
      text = await readWhole(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#damaged(systemFailure('open', path, error));
      return false;
    }
    try {
      const journal = this.#read(text);
      if (!journal) return false;
      const restored = membership.restore(journal);
      if (restored) membership.text.savedRevision = membership.revision;
      return restored;
    } catch (error) {
      this.#damaged(`journal "${path}" of upstream "${target}": ${(error as Error).message}`);
      return false;
    }
  }

  /** Writes the members. Resolves when they are in the file, or after logging that the write has failed. */
  async save(): Promise<void> {
    const { membership } = this.#target;
    const { text } = membership;
    const wanted = text.revision;
    const untilMs = performance.now() + PATIENCE_MS;
    while (text.savedRevision < wanted && performance.now() < untilMs) {
      const seat = membership.journalSeat;
      if (!seat.hold(SILENCE_MS)) {
        // Another worker writes, and may write this change as well.
        await sleep(LOOK_MS);
        continue;
      }
      try {
        await this.#write();
      } catch (error) {
        this.#errors.add();
        this.#worker.log.write('error', systemFailure('write', this.#target.path, error));
        return;
      } finally {
        seat.leave();
      }
    }
  }

  async #write(): Promise<void> {
    const { path, target, source, membership, configured } = this.#target;
    const { revision, set } = membership;
    const { generation, draining } = set;
    const journal = {
      schema: SCHEMA,
      target,
      source,
      generation,
      persisted_at_msec: Date.now(),
      peers: membership.peers(set),
      draining,
      configured,
    };
    const beside = `${path}.${process.pid}.${this.#worker.workerId}.new`;
    await replaceDurably(path, beside, JSON.stringify(journal));
    membership.text.savedRevision = revision;
  }

  #read(text: string): Parameters<Membership['restore']>[0] | undefined {
    const journal = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const { target, configured } = this.#target;
    if (typeof journal !== 'object' || journal?.['schema'] !== SCHEMA)
      throw new Error(`"schema" is not ${SCHEMA}`);
    if (journal['target'] !== target) throw new Error(`"target" is not "${target}"`);
    // Servers that were edited in the configuration replace the journal. Other programs write no such field.
    if (journal['configured'] !== undefined && journal['configured'] !== configured) return undefined;
    const { generation, draining = [] } = journal;
    if (!Number.isSafeInteger(generation) || (generation as number) < 0)
      throw new Error('"generation" is not a number from 0');
    if (!Array.isArray(draining) || !draining.every((address) => typeof address === 'string'))
      throw new Error('"draining" is not a list of texts');
    const peers = readMembers(JSON.stringify({ peers: journal['peers'] }), { allowsSockets: true });
    return { generation: generation as number, draining, peers };
  }

  #damaged(message: string): void {
    const { membership } = this.#target;
    const { restore_error_code: known } = membership.set;
    if (known !== 0) return;
    membership.note({ restore_error_code: MEMBER_CODES.unreadable });
    this.#worker.log.write('warn', message);
  }
}

async function readWhole(path: string): Promise<string> {
  const text = await readFile(path, 'utf8');
  if (Buffer.byteLength(text) > MAX_BYTES)
    throw new MemberFault(500, MEMBER_CODES.unreadable, `it is longer than ${MAX_BYTES} bytes`);
  return text;
}
