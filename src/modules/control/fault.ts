/** A refusal that becomes an error envelope. */
export class ControlFault extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
