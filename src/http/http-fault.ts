/** A failure that decides the status of the answer; `cause` goes to the error log only. */
export class HttpFault extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What the error log says of a failure that nobody expected. */
export function describeFailure(error: unknown): string {
  return `unexpected failure: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
