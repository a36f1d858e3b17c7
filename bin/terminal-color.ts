/** Whether a stream shows colours; `NO_COLOR` and `FORCE_COLOR` go before what it is. */
export function isColorWanted(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR: no = '', FORCE_COLOR: force = '' } = process.env;
  if (no !== '') return false;
  return force === '' ? stream.isTTY === true : force !== '0';
}
