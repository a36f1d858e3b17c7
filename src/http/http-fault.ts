/** A failure that decides the status of the answer; `cause` goes to the error log only. */
export class HttpFault extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
