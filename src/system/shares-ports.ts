/** Node 22.12 and 23.1 allow several threads to listen on one port (SO_REUSEPORT). */
export function sharesPorts(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
}
