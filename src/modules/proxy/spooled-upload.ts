import type { SpooledBody } from '../../pool/index.ts';
import type { Connection } from './client/connection.ts';
import type { Sender, Upload } from './upload.ts';

/** A body that is in a file: it goes out piece by piece, as the peer takes it, and again from its start to the next peer. */
export class SpooledUpload implements Upload {
  readonly bytes = undefined;
  readonly isSpent = false;
  readonly bodyBytes: number;
  private readonly body: SpooledBody;
  private connection: Connection | undefined = undefined;
  private taken: (() => void) | undefined = undefined;

  constructor(body: SpooledBody) {
    this.body = body;
    this.bodyBytes = body.length;
  }

  begin(connection: Connection, sender: Sender): void {
    this.connection = connection;
    // Whoever wrote to the peer before this one sees that it is over.
    this.drained();
    this.send(connection).catch((error: unknown) => sender.fault(error as Error));
  }

  drained(): void {
    this.taken?.();
    this.taken = undefined;
  }

  private async send(connection: Connection): Promise<void> {
    for await (const piece of this.body.pieces()) {
      if (!this.isCurrent(connection)) return;
      if (connection.write(piece)) continue;
      await new Promise<void>((resolve) => {
        this.taken = resolve;
      });
    }
    if (this.isCurrent(connection)) connection.finish();
  }

  private isCurrent(connection: Connection): boolean {
    return this.connection === connection && connection.isOpen;
  }
}
