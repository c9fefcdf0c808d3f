# SPDX-License-Identifier: GPL-2.0-or-later
"""Three nights, written from the two manuals only (nanet3-emu(1), fcmctl(1)) by someone who had not seen the code.

events    (seconds from the start of data, text after "at SECONDS " of the
          emulator's scenario language)
operator  (seconds, arguments of fcmctl)
expect    one entry per cause. "frames": exact number of lost frames, 0 where
          the cause loses none, None where the number cannot be known from
          the manuals. "alt" (optional): other (code, object) that would be
          just as right for this ONE incident where the manuals leave it
          open; never a second incident.
may       what could plausibly come as an incident of its own in addition;
          '*' in an object stands for any characters except a dot.

Events that the station should take without any incident are marked
"harmless"; they are not counted as causes.
"""
SCENARIOS = [
    # ------------------------------------------------------------------ A --
    {
        "name": "storm_night",
        "about": "Bad weather: the GPS antenna loses its satellites, light in "
                 "the sea, a loose fibre on link 0 that goes dark twice, lost "
                 "frames twice on link 1 for different reasons, a module that "
                 "trips, a phase meter that stops, and a reset of a healthy "
                 "link by the operator.",
        "events": [
            (12, "link 1 crc 700"),             # cause 1: dirty connector
            (20, "gps void"),                   # cause 2: until 85
            (30, "link 2 burst 400000 12"),     # cause 3: until 42
            (48, "link 0 unplug 6"),            # cause 4: until 54
            (52, "link 3 hv-trip 2"),           # cause 5, while link 0 is dark
            (70, "link 1 extra-irqs 20"),       # harmless
            (85, "gps ok"),                     # end of cause 2
            (93, "link 3 refuse 1"),            # harmless: first clear_trip refused
            (103, "link 3 duplicate-replies 4"),  # harmless
            (110, "link 2 lose-irqs 5"),        # harmless
            (125, "link 1 drop 250"),           # cause 6: link 1 again, other name
            (140, "link 2 phase-stop"),         # cause 7: until 190
            (190, "link 2 phase-go"),           # end of cause 7
            (215, "link 0 unplug 4"),           # cause 9: link 0 again, until 219
        ],
        "operator": [
            # is REFUSED by the FCM (refuse 1): no incident, the answer says it
            (95, ["action", "tower1.floor4.om2.clear_trip", "--yes",
                  "--reason", "tripped in the storm"]),
            # clears the trip; the module ramps up again
            (105, ["action", "tower1.floor4.om2.clear_trip", "--yes",
                   "--reason", "tripped in the storm, again"]),
            # cause 8: our own action on a healthy link
            (165, ["link", "reset", "3", "--reason", "blind test"]),
        ],
        "expect": [
            {"code": "link-loss", "object": "link1", "frames": 700,
             "about": "crc 700 at 12; its minute is over long before 125"},
            {"code": "clock-holdover", "object": "clock", "frames": 0,
             "about": "gps void 20..85; clock-acquiring after gps ok is part "
                      "of it"},
            {"code": "hits-lost", "object": "tower1.floor3", "frames": 0,
             "about": "burst on link 2 30..42: hits are lost, no frames"},
            {"code": "link-dark", "object": "link0", "frames": None,
             "about": "unplug 48..54; explains link-loss, mute floor and "
                      "stale values of floor 1"},
            {"code": "hv-trip", "object": "tower1.floor4", "frames": 0,
             "about": "hv-trip 2 on link 3 at 52; hv-low during the ramp after "
                      "clear_trip (105) is its effect"},
            {"code": "link-loss", "object": "link1", "frames": 250,
             "about": "drop 250 at 125 (board-fifo on one link): a second "
                      "incident, 113 s after the first on this link"},
            {"code": "phase-silent", "object": "link2", "frames": 0,
             "about": "phase-stop 140..190; nothing to do with the burst on "
                      "the same link before"},
            {"code": "link-loss", "object": "link3", "frames": None,
             "about": "operator's link reset 3 at 165 (about a hundred "
                      "frames); must name our command as its cause",
             "alt": [("link-dark", "link3")]},
            {"code": "link-dark", "object": "link0", "frames": None,
             "about": "unplug 215..219, a second incident 161 s after the end "
                      "of the first"},
        ],
        "may": [
            {"code": "limit", "object": "tower1.floor3.om*.rate",
             "about": "the burst also takes the rates over their limits; "
                      "better explained by hits-lost"},
            {"code": "limit", "object": "tower1.floor3.om*.current",
             "about": "as the rate: more light, more current"},
            {"code": "hv-low", "object": "tower1.floor4",
             "about": "ramp of om2 after clear_trip; better explained by "
                      "hv-trip, but hv-trip itself is over by then"},
            {"code": "clock-acquiring", "object": "clock",
             "about": "some seconds after gps ok; better part of the holdover"},
            {"code": "consumer-lag", "object": "trigger",
             "about": "only if the burst is too much for a consumer of the "
                      "test machine"},
        ],
    },
    # ------------------------------------------------------------------ B --
    {
        "name": "patch_panel_works",
        "about": "Work on shore with power dips: an FCM boots, two fibres are "
                 "swapped for a while, the time receiver loses power, a floor "
                 "whose replies are lost, inserted bytes, a re-laid fibre with "
                 "another delay, a module switched off by the operator, and at "
                 "last all four fibres pulled together.",
        "events": [
            (15, "link 3 fcm-boot"),            # cause 1
            (25, "swap 0 1"),                   # cause 2: until 75
            (40, "gps silent"),                 # cause 3: receiver without
            (40, "tod off"),                    #   power, three outputs at
            (40, "pps off"),                    #   once, until 70
            (50, "link 2 lose-replies 100%"),   # cause 4: until 95
            (70, "pps on"),                     # end of cause 3
            (70, "tod on"),
            (70, "gps ok"),
            (75, "swap 0 1"),                   # end of cause 2: swapped back
            (95, "link 2 lose-replies 0"),      # end of cause 4
            (120, "link 3 crc 900"),            # cause 5: floor 4 booted
                                                #   minutes ago: not its effect
            (133, "link 2 reorder-replies 4"),  # harmless
            (160, "link 1 unalign 4"),          # cause 7: until align at 185
            (205, "link 2 phase-step 700"),     # cause 8
            (265, "link 0 unplug 5"),           # cause 9: all four fibres in
            (265, "link 1 unplug 5"),           #   the same moment: patch
            (265, "link 2 unplug 5"),           #   panel, one cause, until 270
            (265, "link 3 unplug 5"),
        ],
        "operator": [
            # is executed, its reply is lost: UNKNOWN until 95, then settled
            (60, ["set", "tower1.floor3.om1.threshold", "13", "--no-wait",
                  "--yes", "--reason", "blind test"]),
            # cause 6: our own action
            (135, ["set", "tower1.floor3.om4.power", "off", "--yes",
                   "--reason", "noisy module"]),
            # repair of cause 7
            (185, ["link", "align", "1", "--reason", "byte-slip"]),
            # the new delay of link 2 is understood: ends cause 8
            (238, ["phase", "accept", "2", "--reason", "fibre re-laid"]),
        ],
        "expect": [
            {"code": "fcm-booted", "object": "tower1.floor4", "frames": None,
             "about": "fcm-boot on link 3 at 15; explains 0.5 s dark, the lost "
                      "frames and unread values; stays active ten minutes"},
            {"code": "floor-identity", "object": "link0", "frames": None,
             "about": "swap 0 1 at 25, back at 75: ONE incident for both "
                      "links; both dark moments and stale values of floors 1 "
                      "and 2 belong to it",
             "alt": [("floor-identity", "link1")]},
            {"code": "clock-holdover", "object": "clock", "frames": 0,
             "about": "gps silent, tod off, pps off 40..70: one receiver "
                      "without power, one incident"},
            {"code": "floor-mute", "object": "tower1.floor3", "frames": 0,
             "about": "lose-replies 100% on link 2 50..95; stale values and "
                      "the operator's unanswered command are effects"},
            {"code": "link-loss", "object": "link3", "frames": 900,
             "about": "crc 900 at 120: must not be put into fcm-booted of "
                      "floor 4, which is still active"},
            {"code": "hv-off", "object": "tower1.floor3", "frames": 0,
             "about": "operator's power off of om4 at 135; must name our "
                      "command as its cause"},
            {"code": "byte-slip", "object": "link1", "frames": None,
             "about": "unalign 4 on link 1 at 160, until link align at 185; "
                      "explains the frames lost at the slip and, as its "
                      "repair, those of the align"},
            {"code": "phase-jump", "object": "link2", "frames": 0,
             "about": "phase-step 700 at 205 without a new lock; ended by "
                      "phase accept at 238"},
            {"code": "link-dark", "object": "link0", "frames": None,
             "about": "all links unplugged 265..270: one cause, one incident "
                      "over all four links; link 3 not an effect of the old "
                      "boot, link 1 not of the old byte-slip",
             "alt": [("link-dark", "link1"), ("link-dark", "link2"),
                     ("link-dark", "link3"), ("link-dark", "board")]},
        ],
        "may": [
            {"code": "link-loss", "object": "link1",
             "about": "link align 1 at 185 as an own action with its own "
                      "cost, if it is not counted as the repair of byte-slip"},
            {"code": "command-unknown", "object": "tower1.floor3.om1.threshold",
             "about": "the set at 60 has no reply; better explained by "
                      "floor-mute and gone when the floor answers"},
            {"code": "stale", "object": "tower1.floor3",
             "about": "values not read 50..95; better explained by floor-mute"},
            {"code": "stale", "object": "tower1.floor1",
             "about": "floor 1 is not read while it is on the wrong link; "
                      "better explained by floor-identity"},
            {"code": "stale", "object": "tower1.floor2",
             "about": "as floor 1"},
            {"code": "clock-acquiring", "object": "clock",
             "about": "some seconds after 70; better part of the holdover"},
        ],
    },
    # ------------------------------------------------------------------ C --
    {
        "name": "tired_electronics",
        "about": "Old electronics: an FCM that does not hear us until its "
                 "silence timer fires, a drifting fibre, a receiver two "
                 "seconds wrong, a weak laser on the way down twice, a hanging "
                 "DMA engine, a hot FCM, a floor with wrong frame numbers, and "
                 "a reset by the operator after which the link locks two bits "
                 "off.",
        "events": [
            (16, "link 2 down-crc 3000"),       # cause 1
            (25, "link 3 phase-drift 15"),      # cause 2: 900 ps until 85
            (35, "link 1 mute"),                # cause 3: until 75; silence
                                                #   timer of 20 s fires
            (50, "gps jump 2"),                 # cause 4: 18 s, less than the
            (68, "gps ok"),                     #   30 s until a relabelling
            (75, "link 1 unmute"),              # end of cause 3
            (85, "link 3 phase-drift 0"),       # end of the drift
            (100, "link 0 reorder-replies 6"),  # harmless
            (115, "link 3 lose-replies 2"),     # harmless: asked again
            (130, "stall 4"),                   # cause 5: until 134
            (150, "link 2 down-crc 3000"),      # cause 6: link 2 again
            (165, "link 2 temperature 85"),     # cause 7: until 230
            (200, "link 0 time-fault 20000"),   # cause 8: 2.5 s, no good frame
            (222, "link 1 slip-on-align 2"),    # cause 9, with reset at 225
            (230, "link 2 temperature 30"),     # end of cause 7
            (240, "reference off"),             # no incident in the manual
            (252, "reference on"),
        ],
        "operator": [
            (8, ["set", "tower1.floor2.fcm.silence_time", "20", "--yes",
                 "--reason", "blind test"]),
            (14, ["set", "tower1.floor2.fcm.silence_timer", "on", "--yes",
                  "--reason", "blind test"]),
            # acknowledges hv-silenced; the high voltage stays 0
            (120, ["set", "tower1.floor2.fcm.silence_timer", "off", "--yes",
                   "--reason", "seen: floor was mute"]),
            # the drift has ended: ends cause 2
            (155, ["phase", "accept", "3", "--reason", "fibre has settled"]),
            # own action; the lock after it slips by two bits: cause 9
            (225, ["link", "reset", "1", "--reason", "blind test"]),
            # repair: this lock is good
            (262, ["link", "reset", "1", "--reason", "until PASS"]),
        ],
        "expect": [
            {"code": "downlink-errors", "object": "link2", "frames": 0,
             "about": "down-crc 3000 at 16 (0.4 s): no upstream frame is lost"},
            {"code": "phase-drift", "object": "link3", "frames": 0,
             "about": "phase-drift 15 ps/s 25..85: one incident that becomes "
                      "red beyond half a bit; ended by phase accept at 155"},
            {"code": "floor-mute", "object": "tower1.floor2", "frames": 0,
             "about": "mute on link 1 35..75; the silence timer (20 s) ramps "
                      "the high voltage down: hv-silenced and hv-off are its "
                      "effects, also after it has ended",
             "alt": [("hv-silenced", "tower1.floor2")]},
            {"code": "clock-fault", "object": "clock", "frames": 0,
             "about": "gps jump 2 50..68; no relabelling, time epoch stays"},
            {"code": "board-stalled", "object": "board", "frames": None,
             "about": "stall 130..134: the board is the one cause of the "
                      "losses on all four links, none of them silent by itself"},
            {"code": "downlink-errors", "object": "link2", "frames": 0,
             "about": "down-crc 3000 at 150: a second incident, 134 s after "
                      "the first on this link, and not an effect of the stall"},
            {"code": "limit", "object": "tower1.floor3.fcm.temperature",
             "frames": 0,
             "about": "temperature 85 on link 2, 165..230"},
            {"code": "link-silent", "object": "link0", "frames": None,
             "about": "time-fault 20000 at 200: 2.5 s without a good frame "
                      "(20000 frames, if the daemon needs no new alignment); "
                      "explains link-loss",
             "alt": [("link-loss", "link0"), ("link-unaligned", "link0")]},
            {"code": "phase-slip", "object": "link1", "frames": None,
             "about": "slip-on-align 2 at 222 with the operator's link reset 1 "
                      "at 225, repaired by the reset at 262; must name our "
                      "command; the frames lost by both resets belong to it"},
        ],
        "may": [
            {"code": "hv-silenced", "object": "tower1.floor2",
             "about": "remains after the mute has ended and needs an action of "
                      "its own (as long as it is not the incident of cause 3)"},
            {"code": "hv-off", "object": "tower1.floor2",
             "about": "set values are 0 until the end, also after hv-silenced "
                      "was acknowledged at 120"},
            {"code": "link-loss", "object": "link1",
             "about": "frames lost by the operator's resets at 225 and 262, if "
                      "an own action is kept apart from the slip it shows"},
            {"code": "stale", "object": "tower1.floor2",
             "about": "values not read 35..75; better explained by floor-mute"},
            {"code": "clock-holdover", "object": "clock",
             "about": "reference off 240..252, or seconds after gps ok at 68; "
                      "the manual names no incident for a lost 10 MHz "
                      "reference"},
            {"code": "clock-acquiring", "object": "clock",
             "about": "some seconds after gps ok; better part of clock-fault"},
            {"code": "clock-system", "object": "clock",
             "about": "if the daemon took the wrong second for a moment; "
                      "should not come"},
        ],
    },
]
