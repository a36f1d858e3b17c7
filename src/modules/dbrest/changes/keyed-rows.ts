import { tooLongFollowed } from '../fault/index.ts';
import type { Row, RowSink } from '../session/index.ts';
import { digestOf, type KeyedRow } from './known-rows.ts';

/** One read of a followed query gives no more than this, in characters. */
const LONGEST_READ = 16_777_216;

/**
 * Collects the rows of a read. They are kept until all have come, so a read that grows too long is cancelled while it runs. It is
 * its own client: reads go on for all clients of a query, and none of them cancels one.
 */
export class KeyedRows implements RowSink {
  aborted = false;
  readonly rows: KeyedRow[] = [];
  readonly #cancels: (() => void)[] = [];
  #characters = 0;

  onAbort(cancel: () => void): void {
    this.#cancels.push(cancel);
  }

  begin(): void {
    // A read whose session was lost is run again.
    this.rows.length = 0;
    this.#characters = 0;
  }

  columns(): void {}

  row([key, row]: Row): undefined {
    const text = row ?? '';
    this.#characters += (key?.length ?? 0) + text.length;
    if (this.#characters > LONGEST_READ) this.#cancel();
    // As they come: the digests of all rows at once would hold up other requests for too long.
    this.rows.push({ key: key ?? '', row: text, digest: digestOf(text) });
  }

  #cancel(): never {
    this.aborted = true;
    this.rows.length = 0;
    for (const cancel of this.#cancels) cancel();
    throw tooLongFollowed(LONGEST_READ);
  }
}
