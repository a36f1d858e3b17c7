/** A way to a syslog server: sends what it can, drops what it cannot, and never fails. */
export interface SyslogChannel {
  /** `priority` is facility and severity in one number (RFC 3164, 4.1.1). */
  send(priority: number, message: string): void;
  /** Resolves when what was sent has left. */
  close(): Promise<void>;
}
