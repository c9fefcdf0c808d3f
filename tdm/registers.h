/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a floor, as slow-control words (tdm/word.h) name them: module, register, raw
 * value. OURS; the experiment's register map is not public. The floor model executes them, the
 * parameter dictionary (schemas/) gives them names, units, soft limits and tolerances.
 *
 * A value is a signed 32-bit number in the unit given here; a counter's is without a sign, and wraps
 * to 0. RO registers answer a write with WORD_READ_ONLY, values outside the hardware's range with
 * WORD_BAD_VALUE, unknown modules and registers with WORD_BAD_REG. The comment of a register says when
 * a switched-off or tripped module refuses it (WORD_REFUSED).
 *
 * Sequences, as the floor keeps them: WRITE and ACTION have an outcome (status and value), kept for
 * the last 256, refusals included; READ and QUERY are executed each time and keep none.
 *   WRITE, ACTION again  nothing is done; status WORD_DUPLICATE, value = the outcome's value
 *   QUERY, kept          status, value, module and reg of the outcome; sequence = the QUERY's own
 *   QUERY, not kept      WORD_UNKNOWN, value = the sequence asked for
 *   QUERY of 0           WORD_OK, value = the largest sequence kept; none is kept: WORD_UNKNOWN
 * The value of a good WRITE's outcome is what the register holds now, of a good ACTION's the counter
 * that proves it, as it will be when done. A word with a wrong CRC is counted and not answered.
 *
 * Silence timer: off at boot. While it is on, the FCM counts the time since the last valid word from
 * the shore: right CRC, a known op, and a sequence where WRITE and ACTION need one. Its contents,
 * and whether it is refused, do not matter. Frames, serial bytes and timing commands are not words.
 * After SILENCE_S the timer fires: the HV set value of every optical module becomes 0, that of a
 * tripped one too, and each HV ramps down at its module's RAMP. Power, threshold and ramp stay.
 * SILENCED counts it. With all set values 0 there is nothing to ramp down, and it does not fire.
 * When words come again nothing changes: the set values stay 0 until they are written, and the timer
 * stays on. An FCM without the timer answers its registers with WORD_BAD_REG, as any that it does
 * not have.
 */
#pragma once

#include "tdm/word.h" /* WORD_MODULE_FCM */

/* Modules: 0..5 optical, 6..7 hydrophones, WORD_MODULE_FCM (15) the floor control module. */
#define REG_MODULE_HYDROPHONE 6u

/* Tables, set by hand. */
/* clang-format off */

/*
 * Optical module.                      unit     range          at boot (floors start powered)
 */
#define REG_OM_POWER          1u  /* rw 0/1                     1. Switching off drops the HV at once
				   * and clears its set value */
#define REG_OM_HV_SET         2u  /* rw 0.1 V    0..20000       14000. Refused without power. While
				   * tripped it can only be lowered: kept, and the HV
				   * stays 0 until CLEAR_TRIP */
#define REG_OM_HV             3u  /* RO 0.1 V    read-back: ramps to the set value at RAMP, noise of
				   * about 0.3 V */
#define REG_OM_THRESHOLD      4u  /* rw mV       1..500         10 (one photo-electron at nominal HV
				   * is 30 mV). Refused without power */
#define REG_OM_RAMP           5u  /* rw 0.1 V/s  10..5000       1000. Refused without power */
#define REG_OM_TEMPERATURE    6u  /* RO m-degree C */
#define REG_OM_HV_CURRENT     7u  /* RO nA */
#define REG_OM_TRIP           8u  /* RO 0 well, 1 over-current trip: HV is 0 until cleared */
#define REG_OM_RATE           9u  /* RO Hz: hits of the last second, stored or lost */
#define REG_OM_TRIPS          10u /* RO trips since the FCM's boot */
#define REG_OM_CLEARS         11u /* RO trip clears since the FCM's boot: proves CLEAR_TRIP */
#define REG_OM_RESETS         12u /* RO module resets since the FCM's boot: proves RESET */
#define REG_OM_LOST           13u /* RO hits lost in the FIFO since the FCM's boot, wrapping at
				   * 2^31 */
#define REG_OM_POWER_CYCLES   14u /* RO off-on cycles since the FCM's boot: proves POWER_CYCLE */

#define REG_OM_HV_SET_MAX     20000
#define REG_OM_HV_NOMINAL     14000
#define REG_OM_THRESHOLD_MIN  1
#define REG_OM_THRESHOLD_MAX  500
#define REG_OM_RAMP_MIN       10
#define REG_OM_RAMP_MAX       5000

/* Actions (WORD_ACTION; reg names the action, value is ignored). */
#define REG_OM_ACTION_CLEAR_TRIP  1u /* HV ramps up to its set value again. Refused without power */
#define REG_OM_ACTION_RESET       2u /* FIFO emptied, set values kept. Refused without power */
#define REG_OM_ACTION_POWER_CYCLE 3u /* off for 0.2 s, then on; HV set value is restored and ramps */

/*
 * Hydrophone.
 */
#define REG_HYDRO_POWER        1u /* rw 0/1                     1 */
#define REG_HYDRO_GAIN         2u /* rw 0.1 dB   0..600         200. Refused without power */
#define REG_HYDRO_TEMPERATURE  3u /* RO m-degree C */
#define REG_HYDRO_RMS          4u /* RO sample counts: root mean square of the last second */

#define REG_HYDRO_GAIN_MAX     600

/*
 * Floor control module.
 */
#define REG_FCM_TEMPERATURE 1u  /* RO m-degree C */
#define REG_FCM_HUMIDITY    2u  /* RO ppm of saturation: 1 000 000 = 100 % */
#define REG_FCM_SUPPLY      3u  /* RO mV */
#define REG_FCM_CURRENT     4u  /* RO mA: falls when modules are switched off */
#define REG_FCM_HEADING     5u  /* RO m-degree 0..359999 */
#define REG_FCM_PITCH       6u  /* RO m-degree */
#define REG_FCM_ROLL        7u  /* RO m-degree */
#define REG_FCM_BOOT_COUNT  8u  /* RO: proves RESET */
#define REG_FCM_UPTIME      9u  /* RO s since boot */
#define REG_FCM_POWER_MASK  10u /* RO bits 0..5 modules, 6..7 hydrophones */
#define REG_FCM_EXECUTED    11u /* RO requests executed since boot (READ and QUERY excluded) */
#define REG_FCM_REJECTED    12u /* RO requests refused or malformed since boot */
#define REG_FCM_RX_POWER    13u /* RO nW at the FCM's receiver */
#define REG_FCM_SILENCE	    14u /* rw 0/1   0. The silence timer (above). A good write sets
				 * SILENCED to 0 */
#define REG_FCM_SILENCE_S   15u /* rw s     20..3600       120. After this time it fires */
#define REG_FCM_SILENCED    16u /* RO times it fired since SILENCE was written or the FCM's boot */
#define REG_FCM_SILENCED_AGO 17u /* RO s since it fired last; 0 while SILENCED is 0 */

#define REG_FCM_SILENCE_S_MIN	  20
#define REG_FCM_SILENCE_S_MAX	  3600
#define REG_FCM_SILENCE_S_DEFAULT 120

#define REG_FCM_ACTION_RESET       1u /* the FCM boots: answers first (the reply leaves before the
				       * boot), is silent for 0.5 s, forgets its 256 outcomes, the
				       * boot count moves; modules keep power and set values */
#define REG_FCM_ACTION_POWER_CYCLE 2u /* value = module 0..7: off for 0.2 s, then on */

/* clang-format on */
