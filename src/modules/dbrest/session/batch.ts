import type { Connection, Submittable } from 'pg';
import type { Statement } from '../sql/index.ts';
import type { StatementNames } from './statement-names.ts';
import type { Row, WireError } from './wire.ts';

/**
 * Statements in one flush with one Sync: PostgreSQL runs them as one implicit transaction. pg calls the `handle…`
 * members (its public `submit` interface, as pg-cursor uses it); the session decides when the batch is over.
 */
export class Batch implements Submittable {
  /** The last row of the last statement. */
  row: Row | undefined;
  error: WireError | undefined;
  readonly #statements: readonly Statement[];
  readonly #names: StatementNames;
  #completed = 0;

  constructor(statements: readonly Statement[], names: StatementNames) {
    this.#statements = statements;
    this.#names = names;
  }

  submit(connection: Connection): void {
    const named = this.#statements.map((statement) => ({ ...statement, ...this.#names.use(statement.text) }));
    connection.stream.cork();
    // First, where no error can make the server skip it: a skipped Close would leave the statement there for good.
    for (let name = this.#names.evict(); name !== undefined; name = this.#names.evict()) {
      connection.close({ type: 'S', name }, true);
    }
    for (const { text, name, parse, values } of named) {
      if (parse) connection.parse({ name, text, types: [] }, true);
      connection.bind({ statement: name, values: values as string[] }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleDataRow({ fields }: { readonly fields: Row }): void {
    if (this.#completed === this.#statements.length - 1) this.row = fields;
  }

  handleCommandComplete(): void {
    this.#completed += 1;
  }

  /** Of the server only; what pg says of a lost connection reaches the session by itself, and earlier. */
  handleError(error: WireError): void {
    if ('severity' in error) this.error ??= error;
  }

  handleReadyForQuery(): void {}
  handleRowDescription(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}
  handleCopyInResponse(): void {}
}
