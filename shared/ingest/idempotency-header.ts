export const IDEMPOTENCY_KEY_HEADER = {
  'Idempotency-Key':
    'makes the call repeatable: within 24 hours the same key with the same call gets the same answer, and with another call `409 id_reused`',
};

/** Visible ASCII. */
export const IDEMPOTENCY_KEY_PATTERN = '^[!-~]{1,255}$';
