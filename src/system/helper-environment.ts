/** Where programs and libraries are found, and the time zone of log lines. */
const PASSED = ['PATH', 'LD_LIBRARY_PATH', 'TZ'];

/**
 * The environment of programs that gw starts. Unlike the process that serves, they run as an account that may read their
 * environment in /proc, and what `${env:…}` names is often secret.
 */
export function helperEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    PASSED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}
