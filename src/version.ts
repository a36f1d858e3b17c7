/** The version of this build, as in package.json; a test holds them together. */
export const VERSION = '1.0.0-rc.1';

/** The nginx that gw follows; `$nginx_version`, at which programs look. */
export const NGINX_VERSION = '1.31.5';
