/** What has bytes to write. */
interface Writing {
  /** Never throws. */
  flush(): void;
}

let due: Writing[] = [];

/**
 * Calls `flush` when the events of this turn of the event loop have been served. The bytes of all connections then leave
 * together: pipelined requests get their responses in one write, and a program on the same machine is woken once, when it
 * has the bytes of all its connections to read. Call it once per turn and connection.
 */
export function flushAtEndOfTurn(connection: Writing): void {
  if (due.length === 0) setImmediate(flushAll);
  due.push(connection);
}

function flushAll(): void {
  const connections = due;
  due = [];
  for (const connection of connections) connection.flush();
}
