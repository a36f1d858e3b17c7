import type { NamedAddress, WrittenFiles } from '../../contract/index.ts';
import type { HeldLogs } from '../../log/index.ts';
import type { Account } from '../../system/index.ts';

/** The addresses and paths that the process with root's rights handles for one configuration. */
export interface Holdings {
  readonly account: Account;
  readonly addresses: readonly NamedAddress[];
  readonly written: Required<WrittenFiles>;
  /** Absolute. */
  readonly pidFile: string;
  /** `worker_shutdown_timeout`. */
  readonly shutdownTimeoutMs: number;
}

/**
 * A message from the serving process to the one that stays root, as JSON: V8's serialization is unsafe if the sender
 * may be hostile. The answer to a question has its number.
 */
export type ToKeeper =
  /** The configuration that the process loaded while it was root; later grants are ignored. */
  | { readonly type: 'grant'; readonly holdings: Holdings; readonly candidate: string }
  | (KeeperQuestion & { readonly question: number });

export type KeeperQuestion =
  | { readonly type: 'load' }
  /** The last loaded configuration serves. */
  | { readonly type: 'accepted' }
  /** The last loaded configuration is refused. */
  | { readonly type: 'refused' }
  | { readonly type: 'findings' }
  | { readonly type: 'socket'; readonly key: string }
  /** Log files have been rotated. */
  | { readonly type: 'reopen' }
  /** All ports accept. */
  | { readonly type: 'serving' }
  /** No more connections are accepted. Clients would wait on any socket that stays open. */
  | { readonly type: 'leave' };

/** The logs that root has opened and that now belong to the account, and the faults of the others by path. */
export interface OpenedLogs {
  readonly held: HeldLogs;
  readonly faults: Readonly<Record<string, string>>;
}

/**
 * Logs that root has opened, as descriptors of a process of the account. The serving process takes them from there:
 * Node.js can pass sockets to another process, but not files.
 */
export interface HandedLogs extends OpenedLogs {
  /** Absent if no such process could be started. The account then opens the logs by path. */
  readonly holder?: number | undefined;
}

/** The answer to a question. A `socket` comes with a handle unless it has an error number (negative, as in libuv). */
export type KeeperAnswer =
  /** The candidate, packed by root's loader and unpacked by the serving process; the keeper passes it on unread. */
  | { readonly type: 'loaded'; readonly candidate: string; readonly logs?: HandedLogs | undefined }
  | { readonly type: 'findings'; readonly lines: readonly string[] }
  | { readonly type: 'socket'; readonly errno?: number }
  | { readonly type: 'reopened'; readonly logs: HandedLogs }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly reason: string };

export type FromKeeper = KeeperAnswer & { readonly question: number };

/** A question to the loader, a process of root that answers one question. */
export type LoaderQuestion =
  /** `account` is the serving account; another `user` needs a restart. */
  | { readonly wants: 'candidate'; readonly source: string; readonly account: Account }
  | { readonly wants: 'findings'; readonly source: string }
  | { readonly wants: 'logs'; readonly holdings: Holdings };

export type FromLoader =
  | {
      readonly type: 'candidate';
      readonly candidate: string;
      /** Absent if the configuration is refused, as are the logs. */
      readonly holdings?: Holdings | undefined;
      readonly logs?: HandedLogs | undefined;
    }
  | { readonly type: 'reopened'; readonly logs: HandedLogs }
  | { readonly type: 'findings'; readonly lines: readonly string[] }
  | { readonly type: 'failed'; readonly reason: string };
