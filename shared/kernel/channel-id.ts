/** Everybody, one user, or one thread. */
export const CHANNEL_ID = /^(?:public|[ut]_[A-Za-z0-9_-]{1,64})$/;

export const PUBLIC_CHANNEL = 'public';
