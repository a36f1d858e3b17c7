/** The same as `act`, of which at most `limit` run at a time; the others wait in the order in which they came. */
export function atMost<A extends readonly unknown[], T>(
  limit: number,
  act: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (...args) => {
    if (running < limit) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await act(...args);
    } finally {
      // Whoever waited takes the place over.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
