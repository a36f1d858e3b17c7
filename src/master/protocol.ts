/**
 * Number of the messages between the supervisor and the master. After an upgrade the supervisor may be older than the
 * master: a change that either side cannot ignore needs another number, and such an upgrade is refused.
 */
export const PROTOCOL = 1;

/** Maximum number of characters in a part of the state that an upgrade carries over. */
export const MOST_PART_CHARS = 4 * 1_048_576;

/** How a reload or an upgrade went; for the command that asked for it. */
export interface Outcome {
  readonly kind: 'reload' | 'upgrade';
  /** When it began, in nanoseconds of the monotonic clock, which all processes of a machine share. */
  readonly began: string;
  readonly isDone: boolean;
  /** One line. */
  readonly text: string;
}

/** The program that serves, as it describes itself. */
export interface ServingFacts {
  readonly version: string;
  /** Absolute. */
  readonly pidFile: string;
}

/** Tells whether a value that another process has sent is a version. */
export function isVersion(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.+-]{1,64}$/.test(value);
}

/** A message from the master to the supervisor. Its types are none of `ToKeeper`, whose messages come the same way. */
export type ToSupervisor =
  | ({ readonly type: 'ready' } & ServingFacts)
  | { readonly type: 'alive' }
  /** The serving configuration, packed, and its `worker_shutdown_timeout`. */
  | { readonly type: 'keep'; readonly candidate: string; readonly shutdownTimeoutMs: number }
  /** Asks for the configuration that served last, because the files cannot be loaded. */
  | { readonly type: 'last' }
  /** A reload has ended. The path is that of the configuration that serves now. */
  | ({ readonly type: 'outcome'; readonly pidFile: string } & Outcome)
  /** Why this master does not serve; it ends. */
  | { readonly type: 'unable'; readonly reason: string }
  /** A new master asks for the sockets of the running one, and then for each of them, any number of times. */
  | { readonly type: 'inherit' }
  | { readonly type: 'take'; readonly index: number }
  /** The running master hands over a socket, which comes with the message, and says when it has sent the last one. */
  | { readonly type: 'copy'; readonly key: string }
  | { readonly type: 'handed'; readonly fault?: string | undefined }
  /** A new master asks for the next part of the state of the running one, which sends it; '' after the last one. */
  | { readonly type: 'carry' }
  | { readonly type: 'carried'; readonly part: string }
  /** A replaced master has closed its listening sockets. */
  | { readonly type: 'left' };

/** A message from the supervisor to the master. */
export type ToMaster =
  /** The answer to `last`. */
  | { readonly type: 'last'; readonly candidate?: string | undefined }
  /** Asks the running master for its sockets. */
  | { readonly type: 'hand over' }
  /** The answers to `inherit` and `take`; a socket comes with the latter. */
  | { readonly type: 'inherited'; readonly keys: readonly string[] }
  | { readonly type: 'taken'; readonly index: number }
  /** Asks the running master for the next part of its state, and gives it to the new one. */
  | { readonly type: 'carry' }
  | { readonly type: 'carried'; readonly part: string }
  /** A new master serves: this one ends when its requests have ended. */
  | { readonly type: 'replaced' }
  | { readonly type: 'upgrade failed'; readonly reason: string }
  /** The master that this one has replaced did not end by itself. */
  | { readonly type: 'killed'; readonly reason: string };

/**
 * Returns the exit code of a start that failed although the configuration has no fault, such as on a port that is taken:
 * nginx's 1, but EX_TEMPFAIL for systemd, which then tries again (`Type=notify`).
 */
export function failureCode(): number {
  return process.env['NOTIFY_SOCKET'] === undefined ? 1 : 75;
}
