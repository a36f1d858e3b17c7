import type { BoundSocket } from '../bound-sockets.ts';
import type { ToMaster, ToSupervisor } from '../protocol.ts';

/** A copy of a socket in this process. */
export type Copy = BoundSocket & { readonly fd: number };

interface Answer<T extends ToMaster['type']> {
  readonly message: Extract<ToMaster, { type: T }>;
  readonly socket: Copy | undefined;
}

/** Asks the supervisor. Questions are asked one after the other. Rejects if there is no answer in time. */
export function askSupervisor<T extends ToMaster['type']>(
  question: ToSupervisor,
  type: T,
  timeoutMs: number,
): Promise<Answer<T>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => finish(() => reject(new Error('the supervisor does not answer'))),
      timeoutMs,
    );
    const hear = (message: ToMaster, socket?: Copy): void => {
      if (isOf(message, type)) finish(() => resolve({ message, socket }));
    };
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      process.off('message', hear);
      settle();
    };
    process.on('message', hear);
    process.send?.(question, undefined, undefined, () => undefined);
  });
}

function isOf<T extends ToMaster['type']>(
  message: ToMaster,
  type: T,
): message is Extract<ToMaster, { type: T }> {
  return message.type === type;
}
